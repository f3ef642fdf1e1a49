#include "plugin/observe/status/status.h"

#include "tests/support/deadline.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace {

ResourceStatus resource(const std::string& name, size_t devices) {
  Pool pool;
  pool.config.prefix = "nvidia.com";
  pool.config.name = name;
  pool.devices.resize(devices);
  return {.pool = PublishedPool(std::move(pool)), .serving = true, .registered = true, .trouble = {}};
}

}  // namespace

TEST_CASE("a plugin is ready when kubelet has registered every resource that has devices") {
  NodeStatus status;
  CHECK(find_obstacles(status) == std::vector<std::string>{"the node's devices have not been read yet"});
  status.scanned = true;
  CHECK(find_obstacles(status).empty());  // a node without devices
  status.resources = {resource("a", 1), resource("b", 1), resource("none", 0)};
  CHECK(find_obstacles(status).empty());
  status.resources[2].registered = false;
  CHECK(find_obstacles(status).empty());
  status.resources[0].registered = false;
  status.resources[0].trouble = "kubelet's Register: refused";
  status.resources[1].serving = false;
  CHECK(
      find_obstacles(status) ==
      std::vector<std::string>{"nvidia.com/a: kubelet has not registered it yet: kubelet's Register: refused",
                               "nvidia.com/b: its socket is not open"});
}

TEST_CASE("a plugin is not ready while an entry of its configuration is faulty") {
  NodeStatus status;
  status.scanned = true;
  status.skipped = {{"nvidia.com/a", "c.json: resourceList[0] (nvidia.com/a): selectors: missing",
                     ErrorId::config_invalid}};
  CHECK(find_obstacles(status) ==
        std::vector<std::string>{"not served: c.json: resourceList[0] (nvidia.com/a): selectors: missing"});
}

TEST_CASE("a plugin is not ready while the node cannot be read, and says why") {
  NodeStatus status;
  status.scan_failure = "no sysfs today";
  CHECK(find_obstacles(status) ==
        std::vector<std::string>{"the node's devices have not been read yet: no sysfs today"});
  status.scanned = true;
  status.resources = {resource("a", 1)};
  CHECK(find_obstacles(status) ==
        std::vector<std::string>{"the node's devices cannot be read; what was read last stays advertised: "
                                 "no sysfs today"});
  status.scan_failure.clear();
  CHECK(find_obstacles(status).empty());
}

TEST_CASE("the heartbeat asks once, and reports silence for as long as nobody answers") {
  LiveStatus status;
  CHECK_FALSE(status.since_heartbeat());
  int asked = 0;
  status.connect([&] { ++asked; });
  CHECK(status.since_heartbeat() == std::chrono::milliseconds{0});
  CHECK(asked == 1);
  const auto since = std::chrono::steady_clock::now();
  while (*status.since_heartbeat() == std::chrono::milliseconds{0}) {
    REQUIRE(std::chrono::steady_clock::now() - since < kDeadline);
  }
  CHECK(asked == 1);
  status.answer();
  CHECK(status.since_heartbeat() == std::chrono::milliseconds{0});
  CHECK(asked == 2);
  status.connect({});
  CHECK_FALSE(status.since_heartbeat());
}

}  // namespace vfrail::test
