#include "plugin/publish/node_labels.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

using Lines = std::vector<std::string>;

const PciAddress kFirst = *PciAddress::parse("0000:03:00.0");
const PciAddress kSecond = *PciAddress::parse("0000:83:00.0");
// 2026-11-27T01:30:00Z
const std::chrono::system_clock::time_point kExpiry{std::chrono::seconds{1795743000}};

// VFs of that PF, as of a card with RDMA.
void add_vfs(Pool& pool, const PciAddress& pf, int count) {
  for (int i = 0; i < count; ++i) {
    PoolDevice device;
    device.facts.address = *PciAddress::parse(pf.text().substr(0, 8) + "01." + std::to_string(i));
    device.facts.id = DeviceId(device.facts.address);
    device.facts.pf = pf;
    device.facts.link_type = "ether";
    device.facts.rdma_capable = true;
    pool.devices.push_back(device);
  }
}

Pool empty_pool(const std::string& prefix, const std::string& name) {
  Pool out;
  out.config.prefix = prefix;
  out.config.name = name;
  return out;
}

Lines labels_of(const std::vector<PublishedPool>& pools, const LabelledPorts& ports) {
  Lines out;
  for (const NodeLabel& label : make_node_labels(pools, ports).labels)
    out.push_back(label.name + "=" + label.value);
  return out;
}

bool is_name_part(const std::string& text) {
  const auto inside = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= 63 && std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
         std::isalnum(static_cast<unsigned char>(text.back())) != 0 &&
         std::all_of(text.begin(), text.end(), inside);
}

}  // namespace

TEST_CASE("a resource is labelled with its number, fabric and speed, and the node with VFs and RDMA mode") {
  Pool pool = empty_pool("nvidia.com", "hostdev");
  add_vfs(pool, kFirst, 4);
  add_vfs(pool, kSecond, 4);
  pool.rdma_netns_mode = RdmaNetnsMode::exclusive;
  const LabelledPorts ports{{kFirst, {Transport::infiniband, 400'000}},
                            {kSecond, {Transport::infiniband, 400'000}}};
  CHECK(labels_of({PublishedPool(pool)}, ports) == Lines{
                                                       "vfrail.io/hostdev.count=8",
                                                       "vfrail.io/hostdev.fabric=infiniband",
                                                       "vfrail.io/hostdev.speed=400",
                                                       "vfrail.io/rdma-mode=exclusive",
                                                       "vfrail.io/vfs=8",
                                                   });
}

TEST_CASE("labels count what a pod can ask for, not devices") {
  Pool pool = empty_pool("rdma", "hca");
  pool.config.unit = UnitKind::shared;
  pool.config.units = 500;
  pool.rdma_netns_mode = RdmaNetnsMode::shared;
  PoolDevice device;
  device.facts.address = kFirst;
  device.facts.id = DeviceId(kFirst);
  pool.devices.push_back(device);
  CHECK(labels_of({PublishedPool(pool)}, {{kFirst, {Transport::roce, 100'000}}}) ==
        Lines{"vfrail.io/hca.count=500", "vfrail.io/hca.fabric=roce", "vfrail.io/hca.speed=100",
              "vfrail.io/rdma-mode=shared"});
}

TEST_CASE("a device in two resources is one VF of the node") {
  Pool one = empty_pool("nvidia.com", "one");
  add_vfs(one, kFirst, 2);
  Pool two = empty_pool("nvidia.com", "two");
  add_vfs(two, kFirst, 2);
  const Lines labels = labels_of({PublishedPool(one), PublishedPool(two)}, {});
  CHECK(std::count(labels.begin(), labels.end(), "vfrail.io/vfs=2") == 1);
}

TEST_CASE("ports of different kinds are mixed, and the slowest states the speed") {
  Pool pool = empty_pool("nvidia.com", "hostdev");
  add_vfs(pool, kFirst, 1);
  add_vfs(pool, kSecond, 1);
  const Lines labels = labels_of({PublishedPool(pool)},
                                 {{kFirst, {Transport::roce, 25'000}}, {kSecond, {Transport::iwarp, 2'500}}});
  CHECK(labels == Lines{"vfrail.io/hostdev.count=2", "vfrail.io/hostdev.fabric=mixed",
                        "vfrail.io/hostdev.speed=2.5", "vfrail.io/vfs=2"});
}

TEST_CASE("what is not known of a port has no label") {
  Pool pool = empty_pool("nvidia.com", "hostdev");
  add_vfs(pool, kFirst, 1);
  CHECK(labels_of({PublishedPool(pool)}, {}) == Lines{"vfrail.io/hostdev.count=1", "vfrail.io/vfs=1"});
  SECTION("but its link type says it where nothing has RDMA") {
    pool.devices[0].facts.rdma_capable = false;
    CHECK(labels_of({PublishedPool(pool)}, {})[1] == "vfrail.io/hostdev.fabric=ethernet");
  }
  SECTION("or where it is InfiniBand") {
    pool.devices[0].facts.link_type = "infiniband";
    CHECK(labels_of({PublishedPool(pool)}, {})[1] == "vfrail.io/hostdev.fabric=infiniband");
  }
}

TEST_CASE("a resource without a device has no label, and a node without any has none of RDMA") {
  Pool pool = empty_pool("nvidia.com", "hostdev");
  pool.rdma_netns_mode = RdmaNetnsMode::shared;
  CHECK(labels_of({PublishedPool(pool)}, {}).empty());
}

TEST_CASE("resources that differ in their prefix alone have it in their labels") {
  Pool one = empty_pool("nvidia.com", "hostdev");
  add_vfs(one, kFirst, 1);
  Pool two = empty_pool("rdma", "hostdev");
  add_vfs(two, kSecond, 1);
  CHECK(labels_of({PublishedPool(one), PublishedPool(two)}, {}) ==
        Lines{"vfrail.io/nvidia.com.hostdev.count=1", "vfrail.io/rdma.hostdev.count=1", "vfrail.io/vfs=2"});
}

TEST_CASE("a label that Kubernetes would refuse is left out and named") {
  Pool pool = empty_pool("nvidia.com", std::string(57, 'a'));
  add_vfs(pool, kFirst, 1);
  const NodeLabels labels = make_node_labels({PublishedPool(pool)}, {{kFirst, {Transport::own, 100'000}}});
  CHECK(labels.too_long == Lines{"vfrail.io/" + std::string(57, 'a') + ".fabric"});
  for (const NodeLabel& label : labels.labels) {
    CHECK(is_name_part(label.name.substr(std::string("vfrail.io/").size())));
    CHECK(is_name_part(label.value));
  }
  CHECK(labels.labels.size() == 3);  // count, speed, vfs
}

TEST_CASE("the feature file begins with its expiry in UTC") {
  const FeatureText file = make_feature_text({{"vfrail.io/vfs", "64"}}, kExpiry);
  CHECK(
      file.text ==
      "# Written by vfrail serve; edits are lost.\n# +expiry-time=2026-11-27T01:30:00Z\nvfrail.io/vfs=64\n");
  CHECK(file.left_out == 0);
}

TEST_CASE("a feature file that would be too long loses speeds first, and numbers last") {
  std::vector<PublishedPool> pools;
  LabelledPorts ports{{kFirst, {Transport::roce, 400'000}}};
  for (int i = 0; i < 1000; ++i) {
    Pool pool = empty_pool("nvidia.com", std::string(40, 'a') + std::to_string(1000 + i));
    add_vfs(pool, kFirst, 1);
    pools.emplace_back(pool);
  }
  const NodeLabels labels = make_node_labels(pools, ports);
  REQUIRE(labels.labels.size() == 3001);
  const FeatureText file = make_feature_text(labels.labels, kExpiry);
  CHECK(file.text.size() <= kMaxFeatureFile);
  CHECK(file.left_out > 0);
  CHECK(file.text.find("vfrail.io/vfs=1\n") != std::string::npos);
  CHECK(file.text.find("1999.count=1\n") != std::string::npos);
  CHECK(file.text.find(".speed=") == std::string::npos);
  CHECK(make_feature_text(labels.labels, kExpiry).text == file.text);
}
