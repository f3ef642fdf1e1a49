#include "plugin/documents/documents.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

std::vector<Document> read(const std::string& text, const std::string& file = "f.yaml") {
  auto documents = read_documents(text, file);
  if (!documents) FAIL(documents.error().text);
  return *std::move(documents);
}

std::string error_of(const std::string& text, const std::string& file = "f.yaml") {
  const auto documents = read_documents(text, file);
  REQUIRE_FALSE(documents);
  return documents.error().text;
}

constexpr const char* kMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n";

}  // namespace

TEST_CASE("a Kubernetes object is known by kind, group and name, and errors name its document") {
  const auto documents = read(std::string("# first\n---\n") + kMap +
                              "---\napiVersion: mellanox.com/v1alpha1\nkind: NicClusterPolicy\n"
                              "metadata: {name: p}\n");
  REQUIRE(documents.size() == 2);
  CHECK(documents[0].where == "f.yaml: document 1 (ConfigMap b/a)");
  CHECK(documents[0].is("", "ConfigMap"));
  CHECK(documents[1].where == "f.yaml: document 2 (NicClusterPolicy p)");
  CHECK(documents[1].is("mellanox.com", "NicClusterPolicy"));
  CHECK_FALSE(documents[1].is("", "NicClusterPolicy"));
}

TEST_CASE("a List is split, in YAML and in kubectl's JSON") {
  const std::string json = R"({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}}]})";
  for (const char* file : {"f.json", "f.yaml", "stdin"}) {
    CAPTURE(file);
    const auto documents = read(json, file);
    REQUIRE(documents.size() == 2);
    CHECK(documents[1].where == file + std::string(": document 1, item 2 (Secret c)"));
    CHECK(documents[1].value.line() == 3);
  }
  const auto typed =
      read("apiVersion: v1\nkind: ConfigMapList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n");
  REQUIRE(typed.size() == 1);
  CHECK(typed[0].title() == "ConfigMap without a name");
}

TEST_CASE("a text is JSON by its file name or its first character, and has the errors of JSON") {
  CHECK(error_of("{\"a\": 1,}", "c.json").find("c.json: line 1, column 9: ") == 0);
  CHECK(error_of("a: 1", "c.json").find("c.json: line 1, column 1: ") == 0);
  CHECK(error_of("{\"a\": 1,}", "stdin").find("stdin: line 1, column 9: ") == 0);
  CHECK(error_of(" [1", "node-1").find("node-1: line 1, column 4: ") == 0);
  CHECK(read("{\"a\": 1,}", "c.yaml").front().value.text() == R"({"a":1})");
  CHECK(read("{\"a\": 1}\n---\n{\"b\": 2}\n", "stdin").size() == 2);
  CHECK(read("resourceList: []", "node-1").front().where == "node-1: document 1");
  CHECK(error_of("a: 1\n---\nb: [\n").find("f.yaml: document 2: line 4, column 1: ") == 0);
}

TEST_CASE("a configuration with a key kind is not a Kubernetes object") {
  const auto documents = read(R"({"kind": "mine", "resourceList": []})", "c.json");
  CHECK(documents.front().kind.empty());
  CHECK(documents.front().where == "c.json");
  CHECK(error_of("kind: ConfigMap\n") ==
        "f.yaml: document 1 (ConfigMap): apiVersion: missing in an object with a kind");
}

TEST_CASE("a text within a document keeps the lines of the file") {
  const auto documents =
      read(std::string(kMap) +
           "data:\n  block: |\n    {\n      \"a\": 1\n    }\n  commented: |-  # so\n    a: 1\n    b: 2\n"
           "  quoted: \"{\\n\\n\\\"a\\\": 1}\"\n  wrong: |\n    {\n      \"a\": }\n  empty: \"\"\n  n: 5\n"
           "  two: |\n    a: 1\n    ---\n    b: 1\n");
  const Document& map = documents.front();
  const auto embedded = [&](const char* key) {
    return read_embedded(map, *map.value.find("data")->find(key), key);
  };
  CHECK(embedded("block")->find("a")->line() == 7);
  CHECK(embedded("commented")->find("b")->line() == 11);
  CHECK(embedded("quoted")->find("a")->line() == 12);
  CHECK(embedded("wrong").error().text.find("line 15, column 8: ") == 0);
  CHECK(embedded("empty").error().text == "line 16: it is empty");
  CHECK(embedded("n").error().text == "line 17: must be a text, got a number");
  CHECK(embedded("two").error().text == "line 18: must be one document, got 2");
}
