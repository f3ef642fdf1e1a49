#include "plugin/command_line.h"

#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using Words = std::vector<std::string>;

TEST_CASE("flags are accepted in Go's notation") {
  CHECK(read_command_line({"vfrail", "serve", "-config-file=f", "-v=10", "-logtostderr"}) ==
        Words{"serve", "--config-file=f", "--v=10", "--logtostderr"});
  CHECK(read_command_line({"vfrail", "inspect", "-o", "json", "-h"}) == Words{"inspect", "-o", "json", "-h"});
}

TEST_CASE("the command lines of the peers' DaemonSets start serve") {
  CHECK(read_command_line({"/usr/bin/vfrail", "--log-dir=sriovdp", "--log-level=10"}) ==
        Words{"serve", "--log-dir=sriovdp", "--log-level=10"});
  CHECK(read_command_line({"vfrail", "-v", "10", "-logtostderr"}) ==
        Words{"serve", "-v", "10", "--logtostderr"});
  CHECK(read_command_line({"/bin/k8s-rdma-shared-dp"}) == Words{"serve"});
  CHECK(read_command_line({"/bin/k8s-rdma-shared-dp", "--use-cdi"}) == Words{"serve", "--use-cdi"});
  CHECK(read_command_line({"sriovdp", "-help"}) == Words{"serve", "--help"});
}

TEST_CASE("help and version are printed without starting the daemon") {
  CHECK(read_command_line({"vfrail"}).empty());
  CHECK(read_command_line({"vfrail", "--help"}) == Words{"--help"});
  CHECK(read_command_line({"vfrail", "bogus"}) == Words{"bogus"});
  for (const std::string word : {"--version", "-version", "-v"}) {
    CHECK(read_command_line({"vfrail", word}) == Words{"version"});
    CHECK(read_command_line({"k8s-rdma-shared-dp", word}) == Words{"version"});
  }
}

TEST_CASE("the configuration is where the peer's DaemonSet mounts it") {
  std::set<std::string> there;
  const auto exists = [&](const std::string& file) { return there.contains(file); };
  CHECK(default_config_file(exists) == "/etc/pcidp/config.json");
  there = {"/k8s-rdma-shared-dev-plugin/config.json"};
  CHECK(default_config_file(exists) == "/k8s-rdma-shared-dev-plugin/config.json");
  there.insert("/etc/pcidp/config.json");
  CHECK(default_config_file(exists) == "/etc/pcidp/config.json");
}
