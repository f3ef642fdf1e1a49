#include "common/terminal.h"

#include "common/text.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace vfrail {

namespace {

constexpr size_t kMinWidth = 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What reads a pipe can search and cut, and what a table leaves out is lost to it.
size_t find_width(bool terminal) {
  winsize size{};
  if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max(size_t{size.ws_col}, kMinWidth);
  const std::string columns = variable("COLUMNS");
  const unsigned long number = std::strtoul(columns.c_str(), nullptr, 10);
  if (number >= kMinWidth && number < 10'000) return number;
  return terminal ? Terminal().width : 0;
}

// Of the locale: the first of its variables that is set, as setlocale(3) has it.
bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

Terminal find_terminal() {
  Terminal out;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  out.width = find_width(terminal);
  out.colours = terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  out.utf8 = terminal && is_utf8_locale();
  return out;
}

std::string wrapped(const std::string& text, size_t width, size_t indent) {
  std::string out;
  size_t used = 0;
  for (size_t at = 0, end = 0; at <= text.size(); at = end + 1) {
    end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const size_t size = display_width(word);
    if (used > 0 && width > 0 && used + 1 + size > width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += size;
  }
  return out;
}

size_t display_width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not within a character of UTF-8
  }));
}

}  // namespace vfrail
