// What of a node's status an administrator must see.
#include "plugin/observe/status/notices.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace {

ResourceStatus resource(size_t devices, const std::string& fault = "") {
  Pool pool;
  pool.config.prefix = "nvidia.com";
  pool.config.name = "hostdev";
  for (size_t i = 0; i < devices; ++i) {
    PoolDevice& one = pool.devices.emplace_back();
    one.facts.address = {0, 0x18, 0, static_cast<uint8_t>(i)};
    one.facts.id = DeviceId(one.facts.address);
    if (!fault.empty()) one.fault = Fault{FaultCode::port_down, fault};
  }
  return {.pool = PublishedPool(std::move(pool)), .serving = true, .registered = true, .trouble = {}};
}

NodeStatus status_of(std::vector<ResourceStatus> resources) {
  NodeStatus out;
  out.scanned = true;
  out.resources = std::move(resources);
  return out;
}

}  // namespace

TEST_CASE("a resource that has lost its devices is a notice, and one that never had any is none") {
  NoticeFinder finder;
  CHECK(finder.find(status_of({resource(0)})).empty());
  CHECK(finder.find(status_of({resource(2)})).empty());
  const auto gone = finder.find(status_of({resource(0)}));
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].reason == "ResourceEmpty");
  CHECK(gone[0].about == "nvidia.com/hostdev");
  CHECK(gone[0].text.find("nvidia.com/hostdev has no device any more") == 0);
  CHECK(finder.find(status_of({resource(1)})).empty());
}

TEST_CASE("a resource of which every device is unhealthy is a notice with the reason of the first") {
  NoticeFinder finder;
  const auto found = finder.find(status_of({resource(2, "port 1 of mlx5_0 is DOWN")}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].text ==
        "nvidia.com/hostdev has no healthy device, of 2; 0000:18:00.0: port 1 of mlx5_0 is DOWN; vfrail "
        "inspect has "
        "the reason of each");
}

TEST_CASE("orphaned devices, a node that cannot be read, and entries that are not served are notices") {
  NodeStatus status = status_of({resource(1)});
  status.orphans = {"0000:18:00.3"};
  status.scan_failure = "no sysfs today";
  status.skipped = {{"nvidia.com/a", "c.json: resourceList[0]: selectors: missing", ErrorId::config_invalid}};
  status.resources[0].registered = false;
  status.resources[0].trouble = "kubelet's Register: refused";
  const auto found = NoticeFinder().find(status);
  REQUIRE(found.size() == 4);
  CHECK(found[0].reason == "DevicesUnreadable");
  CHECK(found[0].text.find("no sysfs today; vfrail doctor") != std::string::npos);
  CHECK(found[1].reason == "DeviceOrphaned");
  CHECK(found[1].text.find("1 device (0000:18:00.3) still attached") == 0);
  CHECK(found[2].reason == "ResourceNotRegistered");
  CHECK(found[2].text.find("kubelet's Register: refused") != std::string::npos);
  CHECK(found[3].reason == "ConfigurationFaulty");
  CHECK(found[3].about == "nvidia.com/a");
  // As when kubelet has just been started: the daemon has no trouble yet.
  status = status_of({resource(1)});
  status.resources[0].registered = false;
  CHECK(NoticeFinder().find(status).empty());
}

TEST_CASE("a thousand faulty entries are as many notices as one reads") {
  NodeStatus status = status_of({});
  status.skipped.resize(1000);
  CHECK(NoticeFinder().find(status).size() == kMaxNotices);
}

}  // namespace vfrail::test
