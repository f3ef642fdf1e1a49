#include "plugin/publish/node_labels.h"

#include "common/rfc3339.h"
#include "plugin/device/prefer/distance.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace vfrail::plugin {

namespace {

constexpr const char* kDomain = "vfrail.io/";
// Of a label's name behind its prefix (IsQualifiedName() in k8s.io/apimachinery/pkg/util/validation).
constexpr size_t kMaxLabelName = 63;

void add(NodeLabels& out, const std::string& name, std::string value, NodeLabel::Weight weight) {
  if (name.size() > kMaxLabelName) {
    out.too_long.push_back(kDomain + name);
  } else {
    out.labels.push_back({kDomain + name, std::move(value), weight});
  }
}

// A word that is a label's value; empty: not known.
std::string fabric_of(const PoolDevice& device, const LabelledPort& port) {
  switch (port.fabric) {
    case Transport::infiniband:
      return "infiniband";
    case Transport::roce:
      return "roce";
    case Transport::iwarp:
      return "iwarp";
    case Transport::own:
      return "other";
    case Transport::unknown:
      break;
  }
  if (device.facts.link_type == "infiniband") return "infiniband";
  // With RDMA it is RoCE or iWARP, which only the RDMA device says.
  return device.facts.link_type == "ether" && !device.facts.rdma_capable ? "ethernet" : "";
}

// "400", "2.5".
std::string gigabits(uint32_t mbps) {
  std::string out = std::to_string(mbps / 1000);
  const uint32_t rest = mbps % 1000;
  if (rest == 0) return out;
  std::string decimals = std::to_string(1000 + rest).substr(1);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return out + "." + decimals;
}

void add_resource(NodeLabels& out, const std::string& name, const PublishedPool& pool,
                  const LabelledPorts& ports) {
  std::set<std::string> fabrics;
  std::optional<uint32_t> slowest;
  for (const PoolDevice& device : pool->devices) {
    const auto at = ports.find(port_of(device.facts));
    const LabelledPort port = at == ports.end() ? LabelledPort() : at->second;
    const std::string fabric = fabric_of(device, port);
    if (!fabric.empty()) fabrics.insert(fabric);
    if (port.speed_mbps) slowest = std::min(slowest.value_or(UINT32_MAX), *port.speed_mbps);
  }
  add(out, name + ".count", std::to_string(pool.units().size()), NodeLabel::Weight::count);
  if (!fabrics.empty())
    add(out, name + ".fabric", fabrics.size() == 1 ? *fabrics.begin() : "mixed", NodeLabel::Weight::fabric);
  if (slowest) add(out, name + ".speed", gigabits(*slowest), NodeLabel::Weight::speed);
}

void add_node(NodeLabels& out, const std::vector<PublishedPool>& pools) {
  std::set<std::string> vfs;
  std::optional<RdmaNetnsMode> mode;
  for (const PublishedPool& pool : pools) {
    for (const PoolDevice& device : pool->devices) {
      if (device.facts.is_vf()) vfs.insert(device.id());
      mode = pool->rdma_netns_mode;
    }
  }
  if (!vfs.empty()) add(out, "vfs", std::to_string(vfs.size()), NodeLabel::Weight::node);
  if (mode)
    add(out, "rdma-mode", *mode == RdmaNetnsMode::exclusive ? "exclusive" : "shared",
        NodeLabel::Weight::node);
}

std::string line_of(const NodeLabel& label) { return label.name + "=" + label.value + "\n"; }

}  // namespace

NodeLabels make_node_labels(const std::vector<PublishedPool>& pools, const LabelledPorts& ports) {
  NodeLabels out;
  std::map<std::string, int> uses;
  for (const PublishedPool& pool : pools) ++uses[pool->config.name];
  for (const PublishedPool& pool : pools) {
    const ResourceConfig& config = pool->config;
    if (pool->devices.empty()) continue;
    // A resource's name has no dot in it, so no other one gets these labels.
    add_resource(out, uses[config.name] == 1 ? config.name : config.prefix + "." + config.name, pool, ports);
  }
  add_node(out, pools);
  std::sort(out.labels.begin(), out.labels.end(),
            [](const NodeLabel& a, const NodeLabel& b) { return a.name < b.name; });
  std::sort(out.too_long.begin(), out.too_long.end());
  return out;
}

FeatureText make_feature_text(const std::vector<NodeLabel>& labels,
                              std::chrono::system_clock::time_point expiry) {
  std::vector<const NodeLabel*> by_weight;
  for (const NodeLabel& label : labels) by_weight.push_back(&label);
  std::stable_sort(by_weight.begin(), by_weight.end(),
                   [](const NodeLabel* a, const NodeLabel* b) { return a->weight < b->weight; });
  FeatureText out{"# Written by vfrail serve; edits are lost.\n# +expiry-time=" + rfc3339(expiry) + "\n"};
  size_t room = kMaxFeatureFile - out.text.size();
  std::set<std::string> lines;
  for (const NodeLabel* label : by_weight) {
    std::string line = line_of(*label);
    if (line.size() > room) break;
    room -= line.size();
    lines.insert(std::move(line));
  }
  for (const std::string& line : lines) out.text += line;
  out.left_out = labels.size() - lines.size();
  return out;
}

}  // namespace vfrail::plugin
