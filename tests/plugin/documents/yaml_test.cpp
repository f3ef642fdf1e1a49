#include "plugin/documents/yaml.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

std::vector<Json> read(const std::string& text, TextLines lines = {}) {
  auto documents = read_yaml(text, lines);
  if (!documents) FAIL(documents.error().text);
  return *std::move(documents);
}

std::string one(const std::string& text) {
  const auto documents = read(text);
  REQUIRE(documents.size() == 1);
  return documents.front().text();
}

std::string error_of(const std::string& text, TextLines lines = {}) {
  const auto documents = read_yaml(text, lines);
  REQUIRE_FALSE(documents);
  CHECK(documents.error().code == Errc::invalid);
  return documents.error().text;
}

std::string repeated(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("YAML: lists, objects and texts become the values that kubectl sends") {
  CHECK(one("a:\n- b\n- {c: d, e: [f]}\n") == R"({"a":["b",{"c":"d","e":["f"]}]})");
  CHECK(one("text: |\n  one\n  two\nfolded: >-\n  one\n  two\n") ==
        R"({"text":"one\ntwo\n","folded":"one two"})");
  CHECK(one(R"({"json": "is \u00e9 YAML", "too": [1, null]})") == R"({"json":"is é YAML","too":[1,null]})");
  CHECK(one("# a comment\na: b # another\n") == R"({"a":"b"})");
}

TEST_CASE("YAML: a plain scalar has the type that Go's parser gives it, a quoted one is a text") {
  CHECK(one("[true, False, yes, OFF, null, ~, , 12, -3, 0x1f, 010, 1.5, 1e+3]") ==
        R"([true,false,true,false,null,null,null,12,-3,31,8,1.5,1000.0])");
  CHECK(one("[15b3, 15e3, 101e, 0000:3b:02.1, 1.2.3, '12', \"true\", !!str 5, -, .]") ==
        R"(["15b3","15e3","101e","0000:3b:02.1","1.2.3","12","true","5","-","."])");
  CHECK(one("a: |\n  12\n") == "{\"a\":\"12\\n\"}");
}

TEST_CASE("YAML: documents keep their number, also behind empty ones") {
  const auto documents = read("---\n# nothing\n---\na: 1\n---\nb: 2\n...\n");
  REQUIRE(documents.size() == 3);
  CHECK(documents[0].is_null());
  CHECK(documents[1].text() == R"({"a":1})");
  CHECK(documents[2].text() == R"({"b":2})");
  CHECK(read("").empty());
  CHECK(read("# only a comment\n").empty());
}

TEST_CASE("YAML: each value knows its line, from the line on where the text begins") {
  const auto documents = read("a: 1\nb:\n  c: x\n---\nd: [\n  2]\n");
  CHECK(documents[0].find("a")->line() == 1);
  CHECK(documents[0].find("b")->find("c")->line() == 3);
  CHECK(documents[1].find("d")->as_array()->at(0).line() == 6);
  CHECK(read("a: 1", {10, true}).front().find("a")->line() == 10);
  CHECK(read("\n\na: 1", {10, false}).front().find("a")->line() == 10);
}

TEST_CASE("YAML: aliases and merge keys are expanded") {
  CHECK(one("a: &x [1, 2]\nb: *x\n") == R"({"a":[1,2],"b":[1,2]})");
  CHECK(one("base: &b {x: 1, y: 2}\nmore: &m {z: 4}\nc:\n  <<: [*b, *m]\n  y: 3\n") ==
        R"({"base":{"x":1,"y":2},"more":{"z":4},"c":{"y":3,"x":1,"z":4}})");
  CHECK(one("&k a: 1\nb: *k\n") == R"({"a":1,"b":"a"})");
  CHECK(one("\"<<\": 1\n") == R"({"<<":1})");
}

TEST_CASE("YAML: an error has document, line and column") {
  CHECK(error_of("a: [1\n") ==
        "document 1: line 2, column 1: a '[' that has no ']', or a comma is missing before this");
  CHECK(error_of("a: 1\n---\nb: [1\n").find("document 2: line 4, column 1: ") == 0);
  CHECK(error_of("a: 1\nb: 2\na: 3\n") == "document 1: line 3, column 1: the key \"a\" is already in line 1");
  CHECK(error_of("? [a]\n: b\n").find("a key that is a list or an object") != std::string::npos);
  CHECK(error_of("~: b\n").find("a key that is not a string") != std::string::npos);
  CHECK(error_of("a: !python/object x\n").find("a tag that is not known: !python/object") !=
        std::string::npos);
  CHECK(error_of("a: !!binary aGk=\n").find("a tag that is not known") != std::string::npos);
  CHECK(error_of("a: !foo {b: c}\n").find("a tag that is not known: !foo") != std::string::npos);
  CHECK(error_of("<<: 5\n").find("<<: must be an object or a list of objects") != std::string::npos);
  CHECK(error_of("a: *nobody\n").find("document 1: line 1, column 4: ") == 0);
  CHECK(error_of("\n\na: [1", {20, true}).find("document 1: line 22, ") == 0);
  CHECK(error_of("\n\na: [1", {20, false}).find("document 1: line 20: ") == 0);
}

TEST_CASE("what was written wrongly in YAML is named with its place, a TAB first") {
  const std::string tab = ": a TAB in the indentation, where YAML takes blanks alone";
  CHECK(error_of("a:\n  - b: 1\n\tc: 2\n") == "document 1: line 3, column 1" + tab);
  CHECK(error_of("a:\n\t- b\n") == "document 1: line 2, column 1" + tab);
  CHECK(error_of("resourceList:\n  - resourceName: a\n    selectors:\n  \tvendors: [x]\n") ==
        "document 1: line 4, column 3" + tab);
  // In a text it is none.
  CHECK(error_of("a: |\n  \tb\nc: 1\nd: 2\ne: [1\n").find("TAB") == std::string::npos);
  CHECK(error_of("a: b: c\n").find("a text with \": \" needs quotes") != std::string::npos);
}

TEST_CASE("YAML: a value that contains itself is refused") {
  CHECK(error_of("a: &x [*x]\n").find("an alias within what it is the alias of") != std::string::npos);
  CHECK(error_of("a: &x {b: {c: *x}}\n").find("an alias within what it is the alias of") !=
        std::string::npos);
}

TEST_CASE("YAML: aliases of aliases are counted before they take memory") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + repeated(", " + last, 9) + "]\n";
  }
  CHECK(error_of(bomb).find("more than 50000 values") != std::string::npos);
  const std::string large =
      "a: &a " + std::string(100'000, 'x') + "\nb: [*a" + repeated(", *a", 1000) + "]\n";
  CHECK(error_of(large).find("texts of more than 4194304 bytes, with all aliases") != std::string::npos);
  std::string merges = "a: &a {k: " + std::string(100'000, 'x') + "}\nb:\n";
  merges += repeated("- <<: *a\n", 1000);
  CHECK(error_of(merges).find("texts of more than") != std::string::npos);
  const std::string keys = "a: &a " + std::string(100'000, 'x') + "\nb:\n" + repeated("- {*a : 1}\n", 1000);
  CHECK(error_of(keys).find("texts of more than") != std::string::npos);
}

TEST_CASE("YAML: depth, documents, values and size are bounded") {
  CHECK(one(repeated("[", 64) + repeated("]", 64)) == repeated("[", 64) + repeated("]", 64));
  CHECK(error_of(repeated("[", 65) + repeated("]", 65)).find("more than 64 levels of nesting") !=
        std::string::npos);
  CHECK(error_of(repeated("- ", 65) + "a").find("more than 64 levels of nesting") != std::string::npos);
  CHECK(error_of("a: &a " + repeated("[", 40) + repeated("]", 40) + "\nb: " + repeated("[", 40) + "*a" +
                 repeated("]", 40))
            .find("more than 64 levels of nesting") != std::string::npos);
  CHECK(error_of(repeated("[", 90'000)).find("document 1: line 1") == 0);
  CHECK(error_of(repeated("- ", 400'000)).find("document 1: line 1") == 0);
  CHECK(error_of(repeated("? ", 400'000)).find("document 1: line 1") == 0);
  CHECK(read(repeated("---\na\n", 256)).size() == 256);
  CHECK(error_of(repeated("---\na\n", 257)).find("more than 256 documents") != std::string::npos);
  CHECK(error_of(repeated("- a\n", 50'001)).find("more than 50000 values") != std::string::npos);
  CHECK(error_of(repeated("k: ", 5)).find("document 1: line 1") == 0);
  CHECK(error_of(repeated("[", 100'001)).find("more than 100000 brackets, braces and commas") !=
        std::string::npos);
  CHECK(error_of(std::string((1 << 20) + 1, 'a')).find("more than the 1048576 bytes allowed") !=
        std::string::npos);
}
