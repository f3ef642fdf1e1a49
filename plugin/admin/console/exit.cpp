#include "plugin/admin/console/exit.h"

#include "common/escape.h"

#include <algorithm>
#include <iostream>
#include <string_view>

namespace vfrail::plugin {

int fail(Exit code, const Error& error) {
  std::cerr << "vfrail: " << escaped(error.text_with_id()) << "\n";
  return code;
}

int answer(const std::string& text) {
  std::cout << text;
  std::cout.flush();
  return std::cout ? kDone : fail(kFailed, Error{Errc::system, 0, "write to stdout: it is closed or full"});
}

std::string escaped_lines(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out += escaped(std::string_view(text).substr(begin, end - begin)) + (end < text.size() ? "\n" : "");
    begin = end + 1;
  }
  return out;
}

}  // namespace vfrail::plugin
