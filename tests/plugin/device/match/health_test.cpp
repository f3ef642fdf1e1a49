#include "plugin/device/match/health.h"

#include "common/errors/error_id.h"
#include "common/node/port_state.h"
#include "plugin/device/advertise/debounce.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/tree.h"
#include "tests/support/places.h"

#include <iterator>
#include <set>
#include <string>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

RdmaPort port(const std::string& state, const std::string& physical, const std::string& link_layer) {
  RdmaPort out;
  out.state = state;
  out.physical = physical;
  out.link_layer = link_layer;
  return out;
}

// A VF of an InfiniBand PF with a port in that state.
DeviceFacts infiniband_vf(const std::string& state, const std::string& physical) {
  DeviceFacts out;
  out.pf = PciAddress::parse("0000:03:00.0");
  out.link_type = "infiniband";
  out.port.rdma = {port(state, physical, "InfiniBand")};
  return out;
}

DeviceFacts ethernet_vf(bool up, bool carrier) {
  DeviceFacts out;
  out.pf = PciAddress::parse("0000:03:00.0");
  out.link_type = "ether";
  out.port.up = up;
  out.port.carrier = carrier;
  return out;
}

// A resource with the default policy, but for one of its conditions.
ResourceConfig only(const std::string& condition, bool value) {
  ResourceConfig resource;
  HealthPolicy& out = resource.health;
  if (condition == "port") out.port = value;
  if (condition == "carrier") out.carrier = value;
  if (condition == "guid") out.guid = value;
  if (condition == "devlink") out.devlink = value;
  return resource;
}

}  // namespace

TEST_CASE("an InfiniBand device is as healthy as the port of its PF") {
  CHECK(find_fault(infiniband_vf("ACTIVE", "LinkUp"), {}).empty());
  CHECK(find_fault(infiniband_vf("INIT", "LinkUp"), {}).empty());  // the subnet manager has yet to come
  CHECK(find_fault(infiniband_vf("DOWN", "Polling"), {}).text ==
        "the port of its PF 0000:03:00.0 is DOWN, Polling: nothing answers at the other end: check its cable "
        "and the switch's port");
  CHECK(find_fault(infiniband_vf("DOWN", "Disabled"), only("port", false)).empty());
  DeviceFacts two_ports = infiniband_vf("DOWN", "Polling");
  two_ports.port.rdma.push_back(port("ACTIVE", "LinkUp", "InfiniBand"));
  CHECK(find_fault(two_ports, {}).empty());
  DeviceFacts pf = infiniband_vf("DOWN", "Polling");
  pf.pf.reset();
  CHECK(find_fault(pf, {}).text ==
        "its port is DOWN, Polling: nothing answers at the other end: check its cable and the switch's port");
}

TEST_CASE("the physical state decides what is said of an InfiniBand port, with the interface of its PF") {
  for (const auto& [physical, words] : std::vector<std::pair<const char*, const char*>>{
           {"Disabled", "it is switched off on this node: ip link set ibp75s0 up; "},
           {"Polling", "check its cable and the switch's port"},
           {"Sleep", "it sleeps to save power: ip link set ibp75s0 up"},
           {"PortConfigurationTraining", "its link does not become stable"},
           {"LinkErrorRecovery", "its link does not become stable"},
           {"Phy Test", "end the test"},
           {"<unknown>", "check its cable and switch"}}) {
    INFO(physical);
    DeviceFacts vf = infiniband_vf("DOWN", physical);
    vf.pf_name = "ibp75s0";
    const std::string text = find_fault(vf, {}).text;
    CHECK(text.starts_with("the port of its PF 0000:03:00.0 is DOWN, " + std::string(physical) + ": "));
    CHECK(text.find(words) != std::string::npos);
  }
  CHECK(find_fault(infiniband_vf("DOWN", "Disabled"), {}).text.find("ip link set NAME up") !=
        std::string::npos);
  CHECK(port_remedy(port("INIT", "LinkUp", "InfiniBand"), "").starts_with("no subnet manager"));
  CHECK(port_remedy(port("DOWN", "LinkUp", "InfiniBand"), "").starts_with("its link is up"));
}

TEST_CASE("the id of a port that is down is explained for each physical state that a node shows often") {
  const ErrorRow& row = row_of(ErrorId::port_down);
  for (const char* physical : {"Disabled", "Polling", "INIT"}) {
    CHECK(row.cause.find(physical) != std::string_view::npos);
    CHECK(row.remedy.find(physical) != std::string_view::npos);
  }
}

TEST_CASE("a port whose state cannot be read is not down") {
  CHECK(find_fault(infiniband_vf("", ""), {}).empty());
  CHECK_FALSE(find_fault(infiniband_vf("", "Polling"), {}).empty());
  DeviceFacts two_ports = infiniband_vf("", "");
  two_ports.port.rdma.push_back(port("DOWN", "Polling", "InfiniBand"));
  CHECK(find_fault(two_ports, {}).text ==
        "the port of its PF 0000:03:00.0 is DOWN, Polling: nothing answers at the other end: check its cable "
        "and the switch's port");
  ResourceConfig shared;
  shared.unit = UnitKind::shared;
  DeviceFacts nic = ethernet_vf(true, true);
  nic.rdma.resize(1);
  nic.rdma[0].ports = {port("", "", "Ethernet")};
  CHECK(find_fault(nic, shared).empty());
}

TEST_CASE("the carrier of an Ethernet PF counts if the pool requires it") {
  const ResourceConfig policy = only("carrier", true);
  CHECK(find_fault(ethernet_vf(true, true), policy).empty());
  CHECK(find_fault(ethernet_vf(true, false), policy).text ==
        "the port of its PF 0000:03:00.0 has no carrier: check its cable and switch");
  CHECK(find_fault(ethernet_vf(false, false), policy).text ==
        "the port of its PF 0000:03:00.0 is administratively down: bring its interface up");
  CHECK(find_fault(ethernet_vf(true, false), {}).empty());
  CHECK(find_fault(infiniband_vf("ACTIVE", "LinkUp"), policy).empty());
}

TEST_CASE("the state of a RoCE port is its netdev's and says nothing of its own") {
  DeviceFacts vf = ethernet_vf(true, true);
  vf.port.rdma = {port("DOWN", "Disabled", "Ethernet")};
  CHECK(find_fault(vf, {}).empty());
}

TEST_CASE("a RoCE port that is down because its interface is set down is no fault of a shared device") {
  ResourceConfig shared;
  shared.unit = UnitKind::shared;
  DeviceFacts nic = ethernet_vf(true, true);
  nic.rdma.resize(1);
  nic.rdma[0].ports = {port("DOWN", "Disabled", "Ethernet")};
  nic.netdevs.resize(1);
  nic.netdevs[0].up = false;
  CHECK(find_fault(nic, shared).empty());
  nic.netdevs[0].up = true;
  CHECK_FALSE(find_fault(nic, shared).empty());
  nic.netdevs[0].up = false;
  nic.rdma[0].ports = {port("DOWN", "Polling", "InfiniBand")};  // whose state is not its interface's
  CHECK_FALSE(find_fault(nic, shared).empty());
}

TEST_CASE("a shared device has to work in the host, whatever its link layer is") {
  ResourceConfig shared;
  shared.unit = UnitKind::shared;
  DeviceFacts nic = ethernet_vf(true, true);
  nic.rdma.resize(1);
  nic.rdma[0].name = "rocep156s0";
  nic.rdma[0].ports = {port("DOWN", "Disabled", "Ethernet")};
  CHECK(find_fault(nic, shared)
            .text.starts_with("rocep156s0 is DOWN, Disabled: its state is that of its interface, which is "
                              "not visible here: "));
  nic.netdevs.resize(1);
  nic.netdevs[0].up = true;
  nic.netdevs[0].name = *IfName::parse("eth1");
  CHECK(
      find_fault(nic, shared).text ==
      "rocep156s0 is DOWN, Disabled: eth1 has no carrier: check the cable, the transceiver and the switch's "
      "port");
  CHECK(find_fault(nic, {}).empty());
  nic.rdma[0].ports[0].state = "ACTIVE";
  CHECK(find_fault(nic, shared).empty());
}

TEST_CASE("a VF without a GUID differs from one that is in a pod, if the pool requires GUIDs") {
  const ResourceConfig policy = only("guid", true);
  DeviceFacts vf = infiniband_vf("ACTIVE", "LinkUp");
  CHECK(find_fault(vf, policy).empty());  // in a pod: nothing to see, nothing to say
  vf.rdma.resize(1);
  vf.rdma[0].guid = "0000:0000:0000:0000";
  CHECK(find_fault(vf, policy).text.find("its GUID is not set") == 0);
  CHECK(find_fault(vf, {}).empty());
  vf.rdma[0].guid = "b859:9f03:00a8:1c2e";
  CHECK(find_fault(vf, policy).empty());
}

TEST_CASE("every reason of an unhealthy device has a code of its own, which the document lists") {
  const std::string readme = test::source_text("plugin/observe/metrics/README.md");
  std::set<std::string> seen;
  for (int code = 1; code <= static_cast<int>(kLastFaultCode); ++code) {
    const std::string name = name_of(static_cast<FaultCode>(code));
    INFO(name);
    CHECK(seen.insert(name).second);
    CHECK(readme.find("\n| `" + name + "` | ") != std::string::npos);
  }
  CHECK(std::string(name_of(FaultCode::none)).empty());
}

TEST_CASE("a failed devlink health reporter is a fault") {
  DeviceFacts vf = ethernet_vf(true, true);
  vf.port.failed_reporters = {"fw_fatal"};
  CHECK(find_fault(vf, {}).text == "devlink reports an error of fw_fatal: see devlink health show");
  CHECK(find_fault(vf, only("devlink", false)).empty());
}

TEST_CASE("a device in a pod is healthy, and so is one whose netdev is down") {
  Tree tree("igb_node");
  tree.move_to_pod("0000:21:10.0");
  const auto config = parse_config(
      R"({"resourceList":[{"resourceName":"a","selectors":{"isRdma":true},"health":{"carrier":true}}]})",
      {"c.json", "intel.com", true});
  REQUIRE(config);
  const Pools pools = match(*config, tree.scan());
  REQUIRE(pools.pools[0].devices.size() == 8);
  for (const PoolDevice& device : pools.pools[0].devices) CHECK(device.fault.empty());
}

TEST_CASE("the port behind a VF is its PF's, read from the tree") {
  Tree tree("igb_node");
  tree.add("sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0/net/eth0/carrier = 0");
  const auto config = parse_config(
      R"({"resourceList":[{"resourceName":"a","selectors":{"isRdma":true},"health":{"carrier":true}}]})",
      {"c.json", "intel.com", true});
  REQUIRE(config);
  const Pools pools = match(*config, tree.scan());
  CHECK(pools.pools[0].find("0000:21:10.0")->fault.text.find("has no carrier") != std::string::npos);
  CHECK(pools.pools[0].find("0000:41:10.0")->fault.empty());
}

namespace {

using Time = Debounce::Time;
constexpr Time kStart{};
Time after(int ms) { return kStart + std::chrono::milliseconds{ms}; }

// What is advertised of one device whose present fault is this.
struct Flapping {
  Debounce debounce;
  std::optional<Time> next;

  std::string print_result(const std::string& fault, int at_ms) {
    std::vector<Pool> pools(1);
    pools[0].config.name = "a";
    pools[0].devices.resize(1);
    if (!fault.empty()) pools[0].devices[0].fault = {FaultCode::port_down, fault};
    next = debounce.settle(pools, after(at_ms));
    return pools[0].devices[0].fault.text;
  }
};

}  // namespace

TEST_CASE("a fault counts when it has held for two seconds, and so does its end") {
  Flapping device;
  CHECK(device.print_result("", 0).empty());
  CHECK(device.print_result("down", 1000).empty());
  CHECK(device.next == after(3000));
  CHECK(device.print_result("down", 2999).empty());
  CHECK(device.print_result("down", 3000) == "down");
  CHECK_FALSE(device.next);
  CHECK(device.print_result("", 4000) == "down");
  CHECK(device.print_result("", 6000).empty());
}

TEST_CASE("a port that flaps changes nothing") {
  Flapping device;
  CHECK(device.print_result("", 0).empty());
  for (int at = 500; at < 20'000; at += 1000) {
    CHECK(device.print_result("down", at).empty());
    CHECK(device.print_result("", at + 500).empty());
  }
  CHECK_FALSE(device.next);
}

TEST_CASE("a device that is seen for the first time has its present health, and a fault its newest reason") {
  Flapping device;
  CHECK(device.print_result("down", 0) == "down");
  CHECK(device.print_result("no carrier", 100) == "no carrier");
}

TEST_CASE("that a container has a device counts at once: another one could get it meanwhile") {
  Debounce debounce;
  std::vector<Pool> pools(1);
  PoolDevice& device = pools[0].devices.emplace_back();
  CHECK_FALSE(debounce.settle(pools, after(0)));
  device.fault = {FaultCode::not_selected, "allocated to a container as intel.com/hostdev"};
  CHECK_FALSE(debounce.settle(pools, after(100)));
  CHECK_FALSE(device.fault.empty());
}

TEST_CASE(
    "fewer RDMA nodes count when it has held for two seconds, more at once, and none while the device is in "
    "a pod") {
  Debounce debounce;
  std::optional<Time> next;
  const auto nodes = [&](bool in_host, size_t count, int at_ms) {
    std::vector<Pool> pools(1);
    pools[0].config.name = "a";
    PoolDevice& device = pools[0].devices.emplace_back();
    if (in_host) device.facts.rdma.push_back({.name = RdmaName("mlx5_0")});
    device.rdma_nodes = count;
    next = debounce.settle(pools, after(at_ms));
    return pools[0].devices[0].rdma_nodes;
  };
  CHECK(nodes(true, 1, 0) == 1);
  CHECK(nodes(true, 3, 1000) == 3);
  CHECK(nodes(false, 0, 2000) == 3);
  CHECK_FALSE(next);
  CHECK(nodes(true, 1, 90'000) == 3);
  CHECK(next == after(92'000));
  CHECK(nodes(false, 0, 91'000) == 3);
  CHECK(nodes(true, 0, 93'000) == 3);
  CHECK(nodes(true, 0, 94'999) == 3);
  CHECK(nodes(true, 0, 95'000) == 0);
  CHECK(nodes(true, 0, 96'000) == 0);
}
