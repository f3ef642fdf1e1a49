#include "plugin/admin/argument_words.h"

#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using Words = std::vector<std::string>;

TEST_CASE("flags are accepted in Go's notation") {
  CHECK(read_arguments({"vfrail", "serve", "-config-file=f", "-v=10", "-logtostderr"}) ==
        Words{"serve", "--config-file=f", "--v=10", "--logtostderr"});
  CHECK(read_arguments({"vfrail", "inspect", "-o", "json", "-h"}) == Words{"inspect", "-o", "json", "-h"});
}

TEST_CASE("the command lines of the peers' DaemonSets start serve") {
  CHECK(read_arguments({"/usr/bin/vfrail", "--log-dir=sriovdp", "--log-level=10"}) ==
        Words{"serve", "--log-dir=sriovdp", "--log-level=10"});
  CHECK(read_arguments({"vfrail", "-v", "10", "-logtostderr"}) ==
        Words{"serve", "-v", "10", "--logtostderr"});
  CHECK(read_arguments({"/bin/k8s-rdma-shared-dp"}) == Words{"serve"});
  CHECK(read_arguments({"/bin/k8s-rdma-shared-dp", "--use-cdi"}) == Words{"serve", "--use-cdi"});
  CHECK(read_arguments({"sriovdp", "-help"}) == Words{"serve", "--help"});
}

TEST_CASE("help and version are printed without starting the daemon") {
  CHECK(read_arguments({"vfrail"}).empty());
  CHECK(read_arguments({"vfrail", "--help"}) == Words{"--help"});
  CHECK(read_arguments({"vfrail", "bogus"}) == Words{"bogus"});
  for (const std::string word : {"--version", "-version", "-v"}) {
    CHECK(read_arguments({"vfrail", word}) == Words{"version"});
    CHECK(read_arguments({"k8s-rdma-shared-dp", word}) == Words{"version"});
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

TEST_CASE("a command in the daemon's container takes over what the daemon was started with") {
  const Words daemon = {"/usr/bin/vfrail",
                        "serve",
                        "--root=/host",
                        "-config-file",
                        "/etc/c.json",
                        "--resource-prefix=acme.com",
                        "--cni-bin-dir=/var/lib/cni/bin"};
  const Words options = {"--config-file", "--resource-prefix", "--root", "--cni-bin-dir"};
  CHECK(with_options_of(daemon, {"doctor", "-o", "json"}, options) ==
        Words{"doctor", "--config-file=/etc/c.json", "--resource-prefix=acme.com",
              "--cni-bin-dir=/var/lib/cni/bin", "-o", "json"});
  CHECK(with_options_of(daemon, {"check-config", "x"}, {"--resource-prefix"}) ==
        Words{"check-config", "--resource-prefix=acme.com", "x"});
  CHECK(with_options_of({"sriovdp", "--resource-prefix", "acme.com"}, {"inspect"}, options) ==
        Words{"inspect", "--resource-prefix=acme.com"});
}

TEST_CASE("a command takes over nothing from another program, or for another tree") {
  const Words options = {"--config-file", "--resource-prefix", "--root"};
  const Words daemon = {"vfrail", "serve", "--resource-prefix=acme.com"};
  CHECK(with_options_of({"/sbin/init"}, {"inspect"}, options) == Words{"inspect"});
  CHECK(with_options_of({}, {"inspect"}, options) == Words{"inspect"});
  CHECK(with_options_of({"vfrail", "top", "--resource-prefix=acme.com"}, {"inspect"}, options) ==
        Words{"inspect"});
  CHECK(with_options_of(daemon, {"inspect", "--root", "/captured"}, options) ==
        Words{"inspect", "--root", "/captured"});
  CHECK(with_options_of(daemon, {"inspect", "--root=/captured"}, options) ==
        Words{"inspect", "--root=/captured"});
  CHECK(with_options_of(daemon, {"serve"}, options) == Words{"serve"});
  CHECK(with_options_of(daemon, {"version"}, {}) == Words{"version"});
  CHECK(with_options_of(daemon, {}, {}).empty());
}
