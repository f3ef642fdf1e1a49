#include "tests/documents/page.h"

#include "tests/support/places.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace vfrail::test {

namespace {

const std::filesystem::path kTop = source_path();

// As GitHub makes it: lower case, blanks become hyphens, punctuation goes.
std::string anchor_of(const std::string& heading) {
  std::string out;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_') out += static_cast<char>(std::tolower(byte));
    if (c == ' ') out += '-';
  }
  return out;
}

void add_anchor(Page& page, const std::string& heading) {
  const std::string plain = anchor_of(heading);
  std::string anchor = plain;
  for (int again = 1; !page.anchors.insert(anchor).second; ++again)
    anchor = plain + "-" + std::to_string(again);
}

void add_links(Page& page, const std::string& line, size_t number) {
  static const std::regex code("`[^`]*`");
  static const std::regex link(R"(\]\(([^)\s]+)\))");
  const std::string prose = std::regex_replace(line, code, "`");
  for (auto at = std::sregex_iterator(prose.begin(), prose.end(), link); at != std::sregex_iterator(); ++at)
    page.links.push_back({number, (*at)[1]});
}

Page read_page(const std::string& file) {
  static const std::regex fence(R"(^( *)```([a-z]*)$)");
  static const std::regex heading(R"(^#+ +(.*)$)");
  Page out{.file = file, .lines = {}, .blocks = {}, .links = {}, .anchors = {}, .indented_code = {}};
  std::istringstream text(source_text(file));
  bool in_block = false;
  bool in_list = false;
  size_t indent = 0;
  for (std::string line; std::getline(text, line);) {
    out.lines.push_back(line);
    const size_t number = out.lines.size();
    std::smatch match;
    if (std::regex_match(line, match, fence)) {
      indent = match[1].length();
      if (!in_block) out.blocks.push_back({number, match[2], {}});
      in_block = !in_block;
      continue;
    }
    if (in_block) {
      const bool indented = line.find_first_not_of(' ') >= indent && line.size() >= indent;
      out.blocks.back().text += (indented ? line.substr(indent) : line) + "\n";
      continue;
    }
    if (std::regex_match(line, match, heading)) add_anchor(out, match[1]);
    static const std::regex item(R"(^ *([-*]|[0-9]+\.) .*)");
    if (std::regex_match(line, item)) in_list = true;
    if (!line.empty() && line[0] != ' ' && !std::regex_match(line, item)) in_list = false;
    if (line.starts_with("    ") && !in_list) out.indented_code.push_back(number);
    add_links(out, line, number);
  }
  if (in_block) throw std::runtime_error(file + " has a block that is not closed");
  return out;
}

}  // namespace

std::string Page::text() const {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

const std::vector<Page>& pages() {
  static const std::vector<Page> kPages = [] {
    std::vector<Page> out;
    auto at = std::filesystem::recursive_directory_iterator(kTop);
    for (const auto& entry : at) {
      const std::string name = entry.path().filename();
      if (entry.is_directory() && (name == "build" || name.starts_with("."))) at.disable_recursion_pending();
      if (entry.path().extension() != ".md") continue;
      out.push_back(read_page(std::filesystem::relative(entry.path(), kTop).string()));
    }
    std::sort(out.begin(), out.end(), [](const Page& a, const Page& b) { return a.file < b.file; });
    return out;
  }();
  return kPages;
}

const Page& page(const std::string& file) {
  for (const Page& one : pages()) {
    if (one.file == file) return one;
  }
  throw std::runtime_error("there is no page " + file);
}

}  // namespace vfrail::test
