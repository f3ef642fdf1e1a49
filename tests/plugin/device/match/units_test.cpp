#include "plugin/device/match/units.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

// VF `index` of the PF 0000:<bus>:00.0.
PoolDevice vf(const std::string& bus, int index, std::optional<int> numa = std::nullopt) {
  PoolDevice out;
  out.facts.pf = PciAddress::parse("0000:" + bus + ":00.0");
  out.facts.address = *PciAddress::parse("0000:" + bus + ":00." + std::to_string(index + 1));
  out.facts.id = DeviceId(out.facts.address);
  out.facts.vf_index = index;
  out.facts.numa_node = numa;
  return out;
}

Pool pool(UnitKind kind, uint32_t units, std::vector<PoolDevice> devices) {
  Pool out;
  out.config.unit = kind;
  out.config.units = units;
  out.devices = std::move(devices);
  return out;
}

std::vector<std::string> ids(const std::vector<Unit>& units) {
  std::vector<std::string> out;
  for (const Unit& unit : units) out.push_back(unit.id);
  return out;
}

std::vector<std::string> members(const Unit& unit) {
  std::vector<std::string> out;
  for (const PoolDevice* device : unit.devices) out.push_back(device->id());
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a device is a unit, with its NUMA node and its fault") {
  Pool devices = pool(UnitKind::device, 0, {vf("03", 0, 1), vf("03", 1)});
  devices.devices[1].fault = {FaultCode::port_down, "its port is down"};
  const auto units = make_units(devices);
  CHECK(ids(units) == Texts{"0000:03:00.1", "0000:03:00.2"});
  CHECK(units[0].numa_nodes == std::vector<int>{1});
  CHECK(units[0].fault.empty());
  CHECK(units[1].numa_nodes.empty());
  CHECK(units[1].fault == "its port is down");
}

TEST_CASE("every unit of a shared pool stands for all devices, and is healthy while one is") {
  Pool devices = pool(UnitKind::shared, 3, {vf("03", 0, 1), vf("05", 0, 0), vf("07", 0, 0)});
  devices.devices[2].fault = {FaultCode::port_down, "its port is down"};
  const auto units = make_units(devices);
  CHECK(ids(units) == Texts{"0", "1", "2"});
  CHECK(members(units[2]) == Texts{"0000:03:00.1", "0000:05:00.1", "0000:07:00.1"});
  CHECK(units[0].numa_nodes == std::vector<int>{0, 1});
  CHECK(units[0].fault.empty());
  for (PoolDevice& device : devices.devices) device.fault = {FaultCode::port_down, "its port is down"};
  CHECK(make_units(devices)[0].fault == "0000:03:00.1: its port is down");
}

TEST_CASE("a shared pool without a device has no units") {
  CHECK(make_units(pool(UnitKind::shared, 3, {})).empty());
  CHECK(make_units(pool(UnitKind::shared_one, 3, {})).empty());
  CHECK(make_units(pool(UnitKind::bundle, 0, {})).empty());
}

TEST_CASE("with one device for each unit they are assigned in turn, and a faulty one affects only its own") {
  Pool devices = pool(UnitKind::shared_one, 5, {vf("03", 0, 0), vf("05", 0, 1)});
  devices.devices[1].fault = {FaultCode::port_down, "its port is down"};
  const auto units = make_units(devices);
  REQUIRE(units.size() == 5);
  CHECK(members(units[4]) == Texts{"0000:03:00.1"});
  CHECK(members(units[3]) == Texts{"0000:05:00.1"});
  CHECK(units[4].fault.empty());
  CHECK(units[3].fault == "its port is down");
  CHECK(units[3].numa_nodes == std::vector<int>{1});
}

TEST_CASE("a bundle is VF k of each rail, in the order of the rails") {
  Pool devices = pool(UnitKind::bundle, 0, {vf("03", 0), vf("03", 1), vf("05", 0), vf("05", 1), vf("07", 1)});
  devices.devices[1].fault = {FaultCode::port_down, "its port is down"};
  const auto units = make_units(devices);
  CHECK(ids(units) == Texts{"bundle-0", "bundle-1"});
  CHECK(members(units[1]) == Texts{"0000:03:00.2", "0000:05:00.2", "0000:07:00.2"});
  CHECK(units[0].fault == "rail 0000:07:00.0 has no VF 0 in this pool");
  CHECK(units[1].fault == "0000:03:00.2: its port is down");
}

TEST_CASE("bundles that lack the same devices are one sentence, and their devices' faults are none") {
  Pool rails = pool(UnitKind::bundle, 0, {vf("03", 0), vf("03", 1), vf("03", 2), vf("05", 0), vf("07", 0)});
  rails.config.prefix = "nvidia.com";
  rails.config.name = "rails";
  rails.devices[0].fault = rails.devices[1].fault = {FaultCode::port_down, "its port is down"};
  const auto units = make_units(rails);
  CHECK(count_healthy(units) == 0);
  CHECK(units[1].fault == "rails 0000:05:00.0 0000:07:00.0 have no VF 1 in this pool");
  CHECK(
      lines_of(find_incomplete(rails, units)) ==
      Texts{"nvidia.com/rails: bundle-1 bundle-2 are incomplete: rails 0000:05:00.0 0000:07:00.0 have no VF "
            "of that index in this pool [VF-BUNDLE-INCOMPLETE]"});
  rails.devices.pop_back();
  rails.devices.push_back(vf("05", 1));
  CHECK(lines_of(find_incomplete(rails, make_units(rails))) ==
        Texts{"nvidia.com/rails: bundle-2 is incomplete: rail 0000:05:00.0 has no VF of that index in this "
              "pool [VF-BUNDLE-INCOMPLETE]"});
}

TEST_CASE("kubelet gets no NUMA node if the resource excludes topology") {
  Pool devices = pool(UnitKind::device, 0, {vf("03", 0, 1)});
  devices.config.exclude_topology = true;
  CHECK(make_units(devices)[0].numa_nodes.empty());
}
