// Parts of documents and whole examples that come from the program, and lists that have to be complete. To
// update the former:
//   VFRAIL_UPDATE_DOCUMENTS=1 documents_tests 'generated *'
#include "cni/conf/link_settings.h"
#include "cni/in_pod/pod_report.h"
#include "common/errors/check_row.h"
#include "common/errors/error_id.h"
#include "common/errors/symptom_search.h"
#include "plugin/admin/doctor/doctor.h"
#include "plugin/admin/doctor/explain_id.h"
#include "plugin/device/config/selector_table.h"
#include "tests/documents/page.h"
#include "tests/plugin/tree.h"
#include "tests/support/places.h"
#include "tests/support/shell.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
using namespace plugin;
using namespace pod;
namespace {

constexpr const char* kBegin = "<!-- generated: ";
constexpr const char* kEnd = "<!-- end of generated -->\n";

// "on NODE: COMMAND" is run with the node of tests/data in $NODE, anything else as it is.
ShellOutcome run_on_node(const std::string& line) {
  static const std::regex on_node("on ([a-z0-9_]+): (.*)");
  std::smatch parts;
  if (!std::regex_match(line, parts, on_node)) return run_in_shell(line);
  const Tree tree(parts[1]);
  return run_in_shell("cd " + test::source_path() + " && NODE=" + tree.root() + " && " + parts[2].str());
}

// What stands behind `<!-- generated: NAME -->`: a table of the code, or what a command prints.
std::string generate(const std::string& name) {
  if (name == "selectors") return selectors_document();
  if (name == "link settings") return link_settings_document();
  if (name == "pod checks") return pod_checks_document();
  if (name == "error ids") return errors_document();
  if (name == "symptoms") return symptoms_document();
  const ShellOutcome outcome = run_on_node(name);
  INFO(name << "\n" << outcome.output);
  REQUIRE(outcome.status == 0);
  return "```text\n" + outcome.output.substr(0, outcome.output.find_last_not_of('\n') + 1) + "\n```\n";
}

// The page with every generated part replaced.
std::string regenerated(const Page& page, size_t& parts) {
  const std::string text = page.text();
  std::string out;
  size_t done = 0;
  for (size_t at = 0; (at = text.find(kBegin, done)) != std::string::npos; ++parts) {
    const size_t name = at + std::string_view(kBegin).size();
    const size_t line_end = text.find('\n', at);
    const size_t end = text.find(kEnd, at);
    INFO(page.file << ": a generated part has no end");
    REQUIRE(end != std::string::npos);
    out += text.substr(done, line_end + 1 - done);
    out += generate(text.substr(name, text.find(" -->", name) - name));
    done = end;
  }
  return out + text.substr(done);
}

// All text literals of the product, each as it is at run time, one after the other.
std::string literals() {
  static const std::regex joint("\"\\s*\"");
  std::string out;
  for (const char* folder : {"plugin", "cni", "common"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_path(folder))) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      out += std::regex_replace(std::string(std::istreambuf_iterator<char>(file), {}), joint, "");
    }
  }
  return std::regex_replace(out, std::regex(R"(\\")"), "\"");
}

}  // namespace

TEST_CASE("generated parts of documents are up to date") {
  size_t parts = 0;
  for (const Page& one : pages()) {
    const std::string text = regenerated(one, parts);
    if (text == one.text()) continue;
    if (std::getenv("VFRAIL_UPDATE_DOCUMENTS") != nullptr) {
      std::ofstream(test::source_path(one.file)) << text;
      WARN(one.file << " was updated");
      continue;
    }
    INFO(one.file << ": update it with VFRAIL_UPDATE_DOCUMENTS=1");
    CHECK(text == one.text());
  }
  CHECK(parts >= 3);
}

TEST_CASE("generated examples are what the command in their first line prints") {
  size_t examples = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_path("examples"))) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string file = std::filesystem::relative(entry.path(), test::source_path()).string();
    const std::string text = source_text(file);
    const std::string first = text.substr(0, text.find('\n') + 1);
    if (!first.starts_with("# vfrail example ")) continue;
    ++examples;
    const ShellOutcome printed = run_in_shell("cd " + test::source_path() + " && " + first.substr(2));
    INFO(file << ": update it with VFRAIL_UPDATE_DOCUMENTS=1\n" << printed.output);
    REQUIRE(printed.status == 0);
    if (text != first + printed.output && std::getenv("VFRAIL_UPDATE_DOCUMENTS") != nullptr) {
      std::ofstream(entry.path()) << first << printed.output;
      WARN(file << " was updated");
      continue;
    }
    CHECK(text == first + printed.output);
  }
  CHECK(examples >= 5);
}

TEST_CASE("every metric is in the document, and no other") {
  static const std::regex quoted("\"((?:vfrail|process)_[a-z_]+)");
  static const std::regex documented("`((?:vfrail|process)_[a-z_]+)`");
  std::set<std::string> made;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("plugin/observe/metrics"))) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = source_text("plugin/observe/metrics/" + entry.path().filename().string());
    for (auto at = std::sregex_iterator(text.begin(), text.end(), quoted); at != std::sregex_iterator(); ++at)
      made.insert((*at)[1]);
  }
  std::set<std::string> shown;
  const std::string text = page("plugin/observe/metrics/README.md").text();
  for (auto at = std::sregex_iterator(text.begin(), text.end(), documented); at != std::sregex_iterator();
       ++at)
    shown.insert((*at)[1]);
  CHECK(made.size() > 30);
  CHECK(made == shown);
}

TEST_CASE("every key of a network configuration is in the document") {
  const std::string source = source_text("cni/conf/unknown_keys.cpp");
  const size_t begin = source.find("kOurs = {");
  const std::string ours = source.substr(begin, source.find("};", begin) - begin);
  const std::string text = page("cni/README.md").text();
  static const std::regex key("\"([A-Za-z_]+)\"");
  size_t keys = 0;
  for (auto at = std::sregex_iterator(ours.begin(), ours.end(), key); at != std::sregex_iterator(); ++at) {
    const std::string name = (*at)[1];
    if (name == "name" || name == "type" || name == "capabilities") continue;  // CNI's, on the first lines
    INFO(name);
    ++keys;
    CHECK(std::regex_search(text, std::regex("[`.]" + name + "[`.]")));
  }
  CHECK(keys > 30);
}

// Of `vfrail doctor`, "VF-N04", or of vfrail-check, "VF-P04".
bool is_check(const std::string& id) {
  const auto has_id = [&](const auto& check) { return check.id == id; };
  const auto node = node_checks();
  const auto pod = pod_checks();
  return std::any_of(node.begin(), node.end(), has_id) || std::any_of(pod.begin(), pod.end(), has_id);
}

TEST_CASE("every check of a node or a pod has its symptom, cause and remedy for explain, and no other has") {
  std::set<std::string> checks;
  for (const auto& check : node_checks()) checks.insert(check.id);
  for (const auto& check : pod_checks()) checks.insert(check.id);
  std::set<std::string> rows;
  for (const auto part : {node_check_rows(), pod_check_rows()}) {
    for (const CheckRow& row : part) rows.emplace(row.id);
  }
  CHECK(checks == rows);
}

TEST_CASE(
    "messages of other programs, as four logs of one cluster have them, are in the troubleshooting, and on "
    "stdin explained") {
  const std::string guide = page("manifests/TROUBLESHOOTING.md").text();
  for (const char* log : {"mr_refused", "nccl_crash", "port_down", "device_not_found"}) {
    INFO(log);
    const auto seen = seen_symptoms(test::source_text("tests/data/logs/" + std::string(log) + ".txt"));
    REQUIRE_FALSE(seen.empty());
    const Symptom& symptom = *seen.front().symptom;
    CHECK(guide.find("`" + shown_message(symptom.messages[0]) + "`") != std::string::npos);
    CHECK(guide.find(symptom.cause) != std::string::npos);
    CHECK(guide.find(symptom.remedy) != std::string::npos);
    const std::string file = test::source_path("tests/data/logs/" + std::string(log) + ".txt");
    const ShellOutcome explained = run_in_shell("COLUMNS=1000 vfrail explain - < " + file);
    CHECK(explained.status == 0);
    CHECK(explained.output.find(symptom.remedy) < 2000);
  }
  CHECK(run_in_shell("vfrail explain - < /dev/null").status == 1);
}

TEST_CASE("every id has its section in the troubleshooting, and documents name no other") {
  const std::string troubleshooting = page("manifests/TROUBLESHOOTING.md").text();
  for (const ErrorRow* row : all_errors()) {
    INFO(row->name);
    CHECK(troubleshooting.find("\n### " + std::string(row->name) + "\n") != std::string::npos);
    for (const std::string_view text : {row->symptom, row->cause, row->remedy})
      CHECK(troubleshooting.find(text) != std::string::npos);
  }
  static const std::regex id("\\bVF-[A-Z][A-Z0-9-]*[A-Z0-9]");
  size_t named = 0;
  for (const Page& one : pages()) {
    const std::string text = one.text();
    for (auto at = std::sregex_iterator(text.begin(), text.end(), id); at != std::sregex_iterator(); ++at) {
      INFO(one.file << ": " << at->str());
      ++named;
      CHECK((parse_error_id(at->str()) || is_check(at->str())));
    }
  }
  CHECK(named > all_errors().size());
}

TEST_CASE("messages in the troubleshooting guide are messages of the program") {
  const std::string all = literals();
  static const std::regex message(R"(\*\*Message:\*\* (.*)$)");
  static const std::regex row(R"(^\| `([^`]{25,})` \|)");
  static const std::regex quoted("`([^`]+)`");
  size_t found = 0;
  for (const std::string& line : page("manifests/TROUBLESHOOTING.md").lines) {
    std::smatch match;
    const bool in_row = std::regex_search(line, match, row);
    if (!in_row && !std::regex_search(line, match, message)) continue;
    const std::string part = in_row ? "`" + match[1].str() + "`" : match[1].str();
    for (auto at = std::sregex_iterator(part.begin(), part.end(), quoted); at != std::sregex_iterator();
         ++at) {
      const std::string text = (*at)[1];
      if (text.find("want one of") != std::string::npos) continue;  // put together from the selector's words
      INFO(text);
      ++found;
      CHECK(all.find(text) != std::string::npos);
    }
  }
  CHECK(found > 12);
}

}  // namespace vfrail::test
