// NodeLabels: what the published pools say of the node as labels of Kubernetes, and the feature file that
// Node Feature Discovery reads them from (its documentation, "Feature files"). Pure.
#pragma once

#include "common/ids.h"
#include "common/node/rdma_facts.h"
#include "plugin/device/match/published_pool.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// The port behind devices of the pools, as far as it is known.
struct LabelledPort {
  Transport fabric = Transport::unknown;
  std::optional<uint32_t> speed_mbps = {};
  bool operator==(const LabelledPort&) const = default;
};
// By port_of().
using LabelledPorts = std::map<PciAddress, LabelledPort>;

struct NodeLabel {
  // The more important first: a file that would be too long ends before the least important.
  enum class Weight : uint8_t { node, count, fabric, speed };
  std::string name;  // "vfrail.io/hostdev.count"
  std::string value;
  Weight weight = Weight::node;
  bool operator==(const NodeLabel&) const = default;
};

struct NodeLabels {
  std::vector<NodeLabel> labels;      // sorted by name
  std::vector<std::string> too_long;  // names that Kubernetes does not allow, so that they are left out
  bool operator==(const NodeLabels&) const = default;
};

// A resource without a device has no label. Two resources that differ in their prefix alone have it in their
// labels: "vfrail.io/nvidia.com.hostdev.count".
NodeLabels make_node_labels(const std::vector<PublishedPool>& pools, const LabelledPorts& ports);

// Node Feature Discovery ignores a longer file as a whole (MaxFeatureFileSize, source/local).
inline constexpr size_t kMaxFeatureFile = 65536;

struct FeatureText {
  std::string text;
  size_t left_out = 0;  // labels that had no room
};
// Labels are removed from the node at that time if the file has not been replaced by then.
FeatureText make_feature_text(const std::vector<NodeLabel>& labels,
                              std::chrono::system_clock::time_point expiry);

}  // namespace vfrail::plugin
