// The Markdown pages of the repository, as the tests of documents read them. Reads only; checks nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace vfrail::test {

// A fenced block of code.
struct Block {
  size_t line = 0;       // of its opening fence, from 1 on
  std::string language;  // "sh"
  std::string text;      // without the indentation of the fence
};

struct Link {
  size_t line = 0;
  std::string target;  // "../README.md#cdi"
};

struct Page {
  std::string file;                // "manifests/README.md"
  std::vector<std::string> lines;  // all of them
  std::vector<Block> blocks;
  std::vector<Link> links;
  std::set<std::string> anchors;
  std::vector<size_t> indented_code;  // lines of code that is marked by indentation alone

  std::string text() const;
};

// Every *.md of the repository, by file.
const std::vector<Page>& pages();
const Page& page(const std::string& file);

}  // namespace vfrail::test
