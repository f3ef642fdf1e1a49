// What a reader follows is there: files, anchors, tables of contents; and the pages keep their form.
#include "tests/documents/page.h"
#include "tests/support/places.h"

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

namespace fs = std::filesystem;

bool is_elsewhere(const std::string& target) {
  return target.starts_with("https://") || target.starts_with("http://");
}

}  // namespace

TEST_CASE("every link of a document resolves, and every anchor") {
  size_t followed = 0;
  for (const Page& from : pages()) {
    for (const Link& link : from.links) {
      if (is_elsewhere(link.target)) continue;
      INFO(from.file << ":" << link.line << ": " << link.target);
      ++followed;
      const size_t hash = link.target.find('#');
      const std::string file = link.target.substr(0, hash);
      const fs::path to =
          file.empty() ? fs::path(from.file) : (fs::path(from.file).parent_path() / file).lexically_normal();
      CHECK(fs::exists(test::source_path(to.string())));
      if (hash == std::string::npos || to.extension() != ".md") continue;
      CHECK(page(to.string()).anchors.contains(link.target.substr(hash + 1)));
    }
  }
  CHECK(followed > 100);
}

TEST_CASE("a long document has a table of contents with every section") {
  constexpr size_t kLong = 150;
  for (const Page& one : pages()) {
    if (one.lines.size() <= kLong || one.file.starts_with("tests/")) continue;
    const auto is_section = [](const std::string& line) { return line.starts_with("## "); };
    if (std::count_if(one.lines.begin(), one.lines.end(), is_section) < 2) continue;
    INFO(one.file);
    for (const std::string& line : one.lines) {
      if (!is_section(line)) continue;
      INFO(line);
      const auto named = "- [" + line.substr(3) + "](#";
      CHECK(one.text().find(named) != std::string::npos);
    }
  }
}

TEST_CASE("the README is short, and leads to every document") {
  const Page& readme = page("README.md");
  CHECK(readme.lines.size() <= 180);  // with what the commands print
  for (const Page& one : pages()) {
    if (one.file == "README.md") continue;
    INFO(one.file);
    CHECK(std::any_of(readme.links.begin(), readme.links.end(), [&](const Link& link) {
      return link.target.substr(0, link.target.find('#')) == one.file;
    }));
  }
}

TEST_CASE("the first command of the README shows the main job, the second runs the tests") {
  const auto& blocks = page("README.md").blocks;
  const auto first =
      std::find_if(blocks.begin(), blocks.end(), [](auto& one) { return one.language == "sh"; });
  REQUIRE(first != blocks.end());
  CHECK(first->text == "./examples/demo/run\n./tests/run\n");
}

TEST_CASE("the README in Chinese has the commands of the README, in their order") {
  const auto commands = [](const Page& page) {
    std::vector<std::string> out;
    for (const Block& block : page.blocks)
      if (block.language == "sh") out.push_back(block.text);
    return out;
  };
  const auto english = commands(page("README.md"));
  auto chinese = commands(page("README.zh-CN.md"));
  REQUIRE(chinese.size() >= english.size());
  chinese.resize(english.size());
  CHECK(chinese == english);
}

TEST_CASE("code in a document is in a block that says its language") {
  for (const Page& one : pages()) {
    INFO(one.file);
    CHECK(one.indented_code == std::vector<size_t>{});
    for (const Block& block : one.blocks) {
      INFO("line " << block.line);
      CHECK(!block.language.empty());
    }
  }
}

}  // namespace vfrail::test
