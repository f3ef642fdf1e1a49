#include "tests/cluster/publisher/devices.h"

#include <array>
#include <cstdio>
#include <string>

namespace vfrail::test {

namespace {

// The buses of the cards of a machine with eight GPUs: four of each NUMA node.
constexpr std::array<unsigned, 8> kBuses{0x1a, 0x3c, 0x4d, 0x5e, 0x9c, 0xbc, 0xcc, 0xdc};

Json typed(const char* type, Json value) { return Json::object().set(type, std::move(value)); }
Json text(std::string value) { return typed("string", std::move(value)); }
Json number(size_t value) { return typed("int", static_cast<int64_t>(value)); }

std::string address(unsigned bus, size_t function, const char* form) {
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), form, bus, static_cast<unsigned>(function / 8),
                static_cast<unsigned>(function % 8));
  return out.data();
}

Json device(size_t card, size_t vf) {
  const unsigned bus = kBuses[card];
  const size_t function = vf + 2;  // two ports
  std::array<char, 16> root{};
  std::snprintf(root.data(), root.size(), "pci0000:%02x", bus - 1);
  Json attributes = Json::object();
  attributes.set("resource.kubernetes.io/pciBusID", text(address(bus, function, "0000:%02x:%02x.%u")));
  attributes.set("resource.kubernetes.io/pcieRoot", text(root.data()));
  attributes.set("resource.kubernetes.io/numaNode", number(card / 4));
  attributes.set("dataDirectPcieRoot", text(""));
  attributes.set("pcieSwitch", text(address(bus - 1, 8, "0000:%02x:%02x.%u")));
  attributes.set("k8s.cni.cncf.io/deviceID", text(address(bus, function, "0000:%02x:%02x.%u")));
  attributes.set("k8s.cni.cncf.io/resourceName", text("nvidia.com/hostdev"));
  attributes.set("kind", text("vf"));
  attributes.set("pool", text("nvidia.com/hostdev"));
  attributes.set("pfName", text("ens" + std::to_string(bus) + "np0"));
  attributes.set("pfPciBusID", text(address(bus, 0, "0000:%02x:%02x.%u")));
  attributes.set("vfIndex", number(vf));
  attributes.set("vendor", text("15b3"));
  attributes.set("product", text("101e"));
  attributes.set("driver", text("mlx5_core"));
  attributes.set("linkType", text("ether"));
  attributes.set("rdma", typed("bool", true));
  attributes.set("firmware", text("28.39.1002 (MT_0000000838)"));
  attributes.set("firmwareVersion", typed("version", "28.39.1002"));
  attributes.set("bandwidthGbps", number(400));
  return Json::object()
      .set("name", address(bus, function, "0000-%02x-%02x-%u"))
      .set("attributes", std::move(attributes));
}

}  // namespace

Json::Array node_devices(size_t count, FirstDevice first) {
  Json::Array out;
  for (size_t i = 0; i < count; ++i) out.push_back(device(i % kBuses.size(), i / kBuses.size()));
  if (first == FirstDevice::unhealthy && !out.empty()) {
    Json taint = Json::object()
                     .set("key", "vfrail.io/unhealthy")
                     .set("value", "link-down")
                     .set("effect", "NoSchedule");
    out.front().set("taints", Json::array().push(std::move(taint)));
  }
  return out;
}

Json offer_body(size_t count, FirstDevice first) {
  return Json::object()
      .set("driver", "vfrail.io")
      .set("resources", Json::array().push("nvidia.com/hostdev"))
      .set("devices", node_devices(count, first));
}

}  // namespace vfrail::test
