// ClusterView: nodes with their resources, devices with the pods that have them, pods that wait and why,
// networks, and findings of all nodes: what `kubectl vfrail` prints. Pure.
#pragma once

#include "common/checks/check.h"
#include "plugin/kube/view/cluster_facts.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::kube {

// Empty: all.
struct ViewFilter {
  std::string node = {};
  std::string resource = {};
  std::string name_space = {};  // of pods and networks
};

struct UnhealthyDevice {
  std::string id;
  std::string reason;
};

struct NodeResource {
  std::string name;
  int64_t capacity = 0;
  int64_t allocatable = 0;
  int64_t in_use = 0;  // what the pods on the node request, or have by claims
  std::vector<UnhealthyDevice> unhealthy;
  bool by_claims = false;     // by Dynamic Resource Allocation: then the counts are of the node's vfrail
  std::string not_published;  // why the scheduler does not have the devices then; empty: it has

  int64_t free() const { return allocatable > in_use ? allocatable - in_use : 0; }
};

struct NodeView {
  std::string name;
  bool ready = false;
  bool cordoned = false;
  bool answered =
      false;  // else what its vfrail knows is not here: unhealthy devices, and which pod has which
  std::vector<NodeResource> resources;
};

struct DeviceHolder {
  ObjectName pod;
  std::string address;  // "192.168.100.2"; several with commas; empty: none is known
};

struct DeviceView {
  std::string node;
  std::string id;
  std::string resource;
  std::string state;  // "healthy", "allocated", "unhealthy", as `vfrail inspect` has it
  std::string fault;  // empty: none
  std::string port;   // "ACTIVE" or "up"; empty: the node does not see it, as in a pod
  std::vector<DeviceHolder> holders;
  std::optional<Rates> traffic = {};  // of each second, from what it counts; no value: not known
};

// A pod that has devices, or waits for them.
struct PodView {
  ObjectName name;
  std::string node;
  std::string phase;
  ResourceCounts requests;               // of vfrail's resources; none: it has devices by claims of its own
  std::vector<std::string> devices;      // ids
  std::vector<std::string> addresses;    // "net1 192.168.100.2"
  std::string reason;                    // why it waits; empty: it does not
  std::vector<std::string> explanation;  // what each resource that it requests is on the nodes
};

struct NetworkView {
  ObjectName name;
  std::string resource;
  std::string type;
  uint64_t attachments = 0;
  std::string ipam;  // "whereabouts"; empty: none
  std::optional<uint64_t> addresses;
  std::optional<uint64_t> addresses_left;
  std::string remark;  // why they are not known; or what is wrong with the network
};

struct ClusterView {
  std::vector<NodeView> nodes;  // that offer a resource of vfrail
  std::vector<DeviceView> devices;
  std::vector<PodView> pods;  // those that wait first
  std::vector<NetworkView> networks;
  std::vector<Gap> gaps;
  bool has_traffic = false;  // it was asked for
};

// The resources are those that a node's vfrail names, and the one of the filter. Where no node has answered,
// those that networks name.
ClusterView make_cluster_view(const ClusterFacts& facts, const ViewFilter& filter);

// Its parts, with the resources that are vfrail's.
std::vector<PodView> waiting_and_served_pods(const ClusterFacts& facts, const std::vector<NodeView>& nodes,
                                             const std::vector<DeviceView>& devices,
                                             const std::vector<std::string>& resources);
std::vector<NetworkView> networks_with_addresses(const ClusterFacts& facts);

}  // namespace vfrail::kube
