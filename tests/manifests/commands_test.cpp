// The commands that documents show can be run: each verb and flag exists, and those that ask for no node are
// run.
#include "common/json.h"
#include "tests/manifests/documents.h"
#include "tests/support/temp_dir.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <sys/wait.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

constexpr const char* kDocuments[] = {"README.md",
                                      "manifests/README.md",
                                      "examples/README.md",
                                      "cni/README.md",
                                      "plugin/README.md",
                                      "manifests/configmap.yaml",
                                      "manifests/daemonset.yaml",
                                      "manifests/vfrail.service",
                                      "manifests/vfrail-sweep.service"};

struct Shown {
  std::string document;
  std::string program;             // "vfrail" or "vfrail-cni"
  std::vector<std::string> words;  // behind it
};

struct Outcome {
  int status = 0;
  std::string output;  // both streams
};

Outcome run(const std::string& command) {
  Outcome out;
  const std::string all = "PATH=" VFRAIL_BINARY_DIR ":$PATH; " + command;
  FILE* pipe = ::popen(("{ " + all + "; } < /dev/null 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const size_t size = ::fread(buffer.data(), 1, buffer.size(), pipe))
    out.output.append(buffer.data(), size);
  out.status = WEXITSTATUS(::pclose(pipe));
  return out;
}

// Of a line what a shell would run: `vfrail VERB ...` and /opt/cni/bin/vfrail, which is vfrail-cni; up to a
// comment, the end of a quotation, or what is no word of a command any more.
void collect(const std::string& document, const std::string& line, std::vector<Shown>& out) {
  static const std::regex command(
      R"re((^|[ `=])(/[a-z/]*/)?(vfrail|vfrail-cni) ([a-z][a-z-]*( +[^ `#"]+)*))re");
  for (auto at = std::sregex_iterator(line.begin(), line.end(), command); at != std::sregex_iterator();
       ++at) {
    Shown shown{document, (*at)[3], {}};
    const bool installed = (*at)[2].str() == "/opt/cni/bin/";
    if (installed) shown.program = "vfrail-cni";
    std::istringstream words((*at)[4].str());
    for (std::string word; words >> word;) shown.words.push_back(word);
    out.push_back(std::move(shown));
  }
}

// In code alone: between backticks and in indented or fenced blocks of Markdown, everywhere else in any line.
std::vector<Shown> all_shown() {
  static const std::regex quoted("`[^`]+`");
  std::vector<Shown> out;
  for (const char* document : kDocuments) {
    const bool markdown = std::string(document).ends_with(".md");
    std::istringstream lines(file_text(document));
    for (std::string line; std::getline(lines, line);) {
      if (!markdown && line.find("Exec") == std::string::npos && line.find("exec ") == std::string::npos)
        continue;
      if (!markdown || line.starts_with("    ")) {
        collect(document, line, out);
        continue;
      }
      for (auto at = std::sregex_iterator(line.begin(), line.end(), quoted); at != std::sregex_iterator();
           ++at)
        collect(document, at->str(), out);
    }
  }
  return out;
}

std::string help_of(const std::string& program, const std::string& verb) {
  static std::map<std::string, std::string> known;
  const auto [at, is_new] = known.try_emplace(program + " " + verb);
  // vfrail-cni says in its usage what all of its verbs take.
  if (is_new) at->second = run(program + " " + verb + " --help; " + program + " --help").output;
  return at->second;
}

}  // namespace

TEST_CASE("every verb and flag of a command that a document shows exists") {
  size_t flags = 0;
  const auto shown = all_shown();
  std::set<std::string> verbs;
  for (const Shown& one : shown) {
    const std::string& verb = one.words.front();
    INFO(one.document << ": " << one.program << " " << verb);
    const std::string help = help_of(one.program, verb);
    INFO(help);
    CHECK(std::regex_search(help, std::regex("(^|\\n) +(vfrail-cni )?" + verb + "\\b")));
    verbs.insert(one.program + " " + verb);
    for (std::string word : one.words) {
      word = word.substr(word.find_first_not_of('['));
      word = word.substr(0, word.find_first_of("=],.;:)"));
      if (!word.starts_with("-")) continue;
      INFO(word);
      ++flags;
      CHECK(std::regex_search(help, std::regex("[ ,\\[]" + word + "[ ,\\]=\\n]")));
    }
  }
  for (const char* verb : {"vfrail serve", "vfrail inspect", "vfrail check-config", "vfrail capture",
                           "vfrail-cni install", "vfrail-cni sweep"}) {
    INFO(verb);
    CHECK(verbs.contains(verb));
  }
  CHECK(flags > 10);
}

TEST_CASE("an interval is taken as the help shows it, with or without its unit") {
  for (const char* interval : {"60", "60s", "2m", "1h"}) {
    INFO(interval);
    const std::string output =
        run(std::string("vfrail serve --config-file /not/there.json --rescan-interval ") + interval).output;
    INFO(output);
    CHECK(output.find("/not/there.json") != std::string::npos);
    CHECK(output.find("rescan-interval") == std::string::npos);
  }
  CHECK(run("vfrail serve --config-file /not/there.json --rescan-interval 60x").status == 2);
}

TEST_CASE(
    "the configuration of the ConfigMap, taken out as the README says, is one that check-config takes") {
  const TempDir folder;
  const std::string file = folder.path("config.json");
  std::ofstream(file) << documents_of("ConfigMap").at(0).node["data"]["config.json"].as<std::string>();
  CHECK(file_text("README.md").find("vfrail check-config config.json\n") != std::string::npos);
  CHECK(file_text("README.md").find("jsonpath='{.data.config\\.json}' > config.json\n") != std::string::npos);
  const Outcome checked = run("cd " + folder.path() + " && vfrail check-config config.json");
  INFO(checked.output);
  CHECK(checked.status == 0);
  CHECK(run("vfrail check-config " VFRAIL_SOURCE_DIR "/manifests/configmap.yaml").status == 0);
}

TEST_CASE("check-config takes every file with a configuration or a network, each alone and all together") {
  size_t taken = 0;
  std::string all = "cd " VFRAIL_SOURCE_DIR " && vfrail check-config";
  for (const std::string& file : files_with({".yaml", ".yml", ".json"})) {
    const auto holds = [](const Document& one) {
      return one.kind() == "ConfigMap" || one.kind() == "NetworkAttachmentDefinition" ||
             one.kind() == "HostDeviceNetwork";
    };
    bool wanted = file.ends_with(".json");
    for (const Document& one : documents()) wanted = wanted || (one.file == file && holds(one));
    const Outcome checked = run("cd " VFRAIL_SOURCE_DIR " && vfrail check-config --strict-config " + file);
    INFO(file << ": " << checked.output);
    CHECK(checked.status == (wanted ? 0 : 2));
    if (!wanted) {
      CHECK(checked.output.find("no configuration: there is ") != std::string::npos);
      continue;
    }
    all += " " + file;
    ++taken;
  }
  CHECK(taken > 8);
  const Outcome checked = run(all);
  INFO(checked.output);
  CHECK(checked.status == 0);
  CHECK(checked.output.find("is not checked") == std::string::npos);
}

TEST_CASE("a ConfigMap is a configuration as it is, for inspect and from stdin") {
  const TempDir no_node;
  const std::string map = VFRAIL_SOURCE_DIR "/manifests/configmap.yaml";
  const std::string inspect = "vfrail inspect --root " + no_node.path() + " --config-file ";
  CHECK(run(inspect + map).status == 1);  // the node is wrong, the configuration is not
  CHECK(run(inspect + "- < " + map).status == 1);
  CHECK(run(inspect + "- < /dev/null").status == 2);
  CHECK(run("vfrail check-config - < " + map).status == 0);
  CHECK(run("vfrail check-config - < /dev/null").status == 2);
}

TEST_CASE("render makes of the HostDeviceNetwork the network that is shown beside it") {
  const std::string file = VFRAIL_SOURCE_DIR "/manifests/host-device-network.yaml";
  const Outcome made = run("vfrail render " + file);
  INFO(made.output);
  REQUIRE(made.status == 0);
  const YAML::Node network = YAML::Load(made.output);
  const Document shown = document("manifests/host-device-network.rendered.yaml");
  const auto config = [](const YAML::Node& node) {
    const auto json = Json::parse(node["spec"]["config"].as<std::string>());
    REQUIRE(json);
    return *json;
  };
  CHECK(config(network) == config(shown.node));
  CHECK(network["metadata"]["namespace"].as<std::string>() == shown.name_space());
  CHECK(network["metadata"]["annotations"][kResourceAnnotation].as<std::string>() ==
        shown.node["metadata"]["annotations"][kResourceAnnotation].as<std::string>());
  const Outcome ours = run("vfrail render --type vfrail - < " + file);
  CHECK(ours.output.find("\"type\":\"vfrail\"") != std::string::npos);
  CHECK(run("vfrail render --type macvlan " + file).status == 2);
}

}  // namespace vfrail::test
