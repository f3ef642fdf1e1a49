// What the view keeps of the API server's objects and of the nodes' pages: a few fields of each, so that
// those of 500 nodes and their pods are some MiB. Pure: values in, values out; asks nobody.
#pragma once

#include "common/json.h"
#include "common/traffic/traffic.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/client/resource_type.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail::kube {

// Extended resources alone, whose names have a domain: "nvidia.com/hostdev". Their quantities are whole.
using ResourceCounts = std::map<std::string, int64_t>;

struct ClusterNode {
  std::string name;
  bool ready = false;
  bool cordoned = false;
  ResourceCounts capacity;
  ResourceCounts allocatable;
};

// One of a pod's attachments, as Multus reports it.
struct PodNetwork {
  std::string network;  // "default/hostdev"; the cluster's own has no namespace
  std::string interface;
  std::vector<std::string> addresses;
  std::string device;  // the PCI address; empty: not reported
};

// A pod that requests extended resources or has claims, or one of vfrail's own.
struct ClusterPod {
  ObjectName name;
  std::string node;  // empty: not scheduled
  std::string phase;
  bool ready = false;
  std::string reason;  // why it is not running, as the scheduler or kubelet says it
  ResourceCounts requests;
  std::vector<std::string> asked_networks;  // of a pod with claims of its own: "default/hostdev"
  std::vector<PodNetwork> networks;
  bool is_vfrail = false;
  uint16_t port = 0;  // of its port named "metrics"; 0: it has none
};

// A NetworkAttachmentDefinition.
struct ClusterNetwork {
  ObjectName name;
  std::string resource;  // empty: it names none
  std::string type;      // of its first plugin; empty: its configuration is on the nodes
  Json ipam;             // null: none
  std::string problem;   // why its configuration cannot be read
};

// An IPPool of whereabouts.
struct AddressPool {
  std::string name;
  std::string range;  // "10.1.0.0/16"
  uint64_t allocated = 0;
};

// What is not in the view, and why.
struct Gap {
  std::string what;  // a node's name, or "pods"
  std::string why;
};

struct NodePage {
  std::string node;
  Json json;
};

// Of the devices whose counters it shows; not of those that it may not read.
struct NodeTraffic {
  std::string node;
  std::vector<DeviceRates> rates = {};
};

struct ClusterFacts {
  std::vector<ClusterNode> nodes;
  std::vector<ClusterPod> pods;
  std::vector<ClusterNetwork> networks;
  std::vector<AddressPool> address_pools;
  std::vector<NodePage> pages;       // `inspect` or `doctor`, of the nodes that have answered
  std::vector<NodeTraffic> traffic;  // if it was asked for, of the nodes that have answered twice
  std::vector<Gap> gaps;
  bool knows_address_pools = true;  // false: their list cannot be read
};

ClusterNode read_cluster_node(const Json& node);
// No value: it requests no extended resource, has no claim, no network of Multus and is not a pod of vfrail.
std::optional<ClusterPod> read_cluster_pod(const Json& pod);
ClusterNetwork read_cluster_network(const Json& network);
AddressPool read_address_pool(const Json& pool);

}  // namespace vfrail::kube
