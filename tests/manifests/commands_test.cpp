// The manifests and examples, as the command line takes them.
#include "common/json.h"
#include "tests/manifests/documents.h"
#include "tests/support/places.h"
#include "tests/support/shell.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

TEST_CASE("check-config accepts every file with a configuration or a network, each alone and all together") {
  size_t taken = 0;
  std::string all = "cd " + test::source_path() + " && vfrail check-config";
  for (const std::string& file : files_with({".yaml", ".yml", ".json"})) {
    const auto holds = [](const Document& one) {
      return one.kind() == "ConfigMap" || one.kind() == "NetworkAttachmentDefinition" ||
             one.kind() == "HostDeviceNetwork";
    };
    bool wanted = file.ends_with(".json");
    for (const Document& one : documents()) wanted = wanted || (one.file == file && holds(one));
    const ShellOutcome checked =
        run_in_shell("cd " + test::source_path() + " && vfrail check-config --strict-config " + file);
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
  const ShellOutcome checked = run_in_shell(all);
  INFO(checked.output);
  CHECK(checked.status == 0);
  CHECK(checked.output.find("is not checked") == std::string::npos);
}

TEST_CASE("inspect reads a ConfigMap as a configuration, also from stdin") {
  const TempDir no_node;
  const std::string map = test::source_path("manifests/configmap.yaml");
  const std::string inspect = "vfrail inspect --root " + no_node.path() + " --config-file ";
  CHECK(run_in_shell(inspect + map).status == 1);  // the node is wrong, the configuration is not
  CHECK(run_in_shell(inspect + "- < " + map).status == 1);
  CHECK(run_in_shell(inspect + "- < /dev/null").status == 2);
  CHECK(run_in_shell("vfrail check-config - < " + map).status == 0);
  CHECK(run_in_shell("vfrail check-config - < /dev/null").status == 2);
}

TEST_CASE("render makes of the HostDeviceNetwork the network that is shown beside it") {
  const std::string file = test::source_path("manifests/host-device-network.yaml");
  const ShellOutcome made = run_in_shell("vfrail render " + file);
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
  const ShellOutcome ours = run_in_shell("vfrail render --type vfrail - < " + file);
  CHECK(ours.output.find("\"type\":\"vfrail\"") != std::string::npos);
  CHECK(run_in_shell("vfrail render --type macvlan " + file).status == 2);
}

}  // namespace vfrail::test
