// Plan: the ways to give the RDMA devices of a node to pods, what each takes, and which one is recommended.
// Every number in it comes from a fact that was read; what is not known says what it needs. Pure: match()
// selects the devices of each way, the checks of `vfrail doctor` say what the node lacks.
#pragma once

#include "common/errors/error_id.h"
#include "common/json.h"
#include "plugin/admin/doctor/doctor.h"
#include "plugin/admin/plan/rails.h"
#include "plugin/admin/report/hardware.h"
#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/pools.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct PlanFacts {
  Inventory inventory;
  HardwareById hardware;
  std::vector<CheckReport> checks;  // of `vfrail doctor`
  std::string config_file;          // empty: none
  std::optional<Config> config;
  std::string name;                     // --name: of the resources; empty: by fabric and speed
  std::vector<std::string> roots = {};  // --root, as given; empty: this node
  bool by_address = false;              // of selectors: by the cards' addresses, whatever else would do
};

enum class WayKind : uint8_t {
  bundle,    // a unit is a device of each rail
  per_rail,  // a resource for each rail
  shared,    // many pods use the same devices
  whole,     // a pod has a PF
  vfs,       // a pod has a VF
  sub_functions,
  host_network,  // no resource: the pod is in the host's network and has all device nodes
  tcp,           // no RDMA: IPoIB, macvlan, or the pods' own network
};

// Something to do before a way works; `command` may be empty.
struct Step {
  std::string name;  // short, for a table: "VFs", "Multus"
  std::string text;
  std::string command = {};
  bool optional = false;  // works without it, as `text` says
};

struct Way {
  WayKind kind = WayKind::shared;
  std::string resource;     // "rdma/ib_200g_shared"; of per_rail a pattern; empty: none
  Json config;              // the configuration of serve for this way alone; null: none
  std::vector<Pool> pools;  // of that configuration on this node
  size_t pods_now = 0;      // units that are healthy, and have a link
  // Ports without a link, of devices that are healthy to kubelet: by default `health` does not ask for
  // carrier.
  std::set<PciAddress> dark;
  std::string pods;  // in words
  std::string isolation;
  std::string address;
  std::string gpu_direct;
  std::vector<Step> takes;  // empty: nothing

  std::vector<const PoolDevice*> devices() const;
};

// What a pod with a number of GPUs gets by a way.
struct GpuShare {
  size_t gpus = 0;
  size_t cards = 0;     // of one pod; 0: the way has none now
  size_t pods = 0;      // of this size at once
  bool shared = false;  // with those pods
};

struct FabricPlan {
  Transport fabric = Transport::infiniband;
  RailGroup group;
  std::vector<Way> ways;  // one of each kind that the group can have
  WayKind recommended = WayKind::shared;
  std::string why;
  std::string later;  // when another way is better; may be empty

  bool passed_through() const { return group.passed_through(); }
  std::string speed() const { return speed_text(group.speed_mbps); }
  const Way* find(WayKind kind) const;
  const Way& way(WayKind kind) const;     // which it has
  const char* title(WayKind kind) const;  // "shared device", "whole PF"
};

// A card with RDMA that is not recommended although pods could have it: storage, or another network's.
struct OtherCard {
  std::string id;
  std::string device;  // "0000:aa:00.0 (enp170s0f0np0, mlx5_9)"
  std::string why;
};

// A function that a pod does not get, or not now.
struct NotOffered {
  std::string device;  // "0000:4b:00.0 (ibp75s0, mlx5_0)"
  std::string why;
  ErrorId id;
};

// What a resource of the user's configuration selects, compared with the recommendation.
struct ConfiguredResource {
  std::string resource;
  size_t units = 0;
  size_t healthy_units = 0;
  std::vector<std::string> devices;  // ids
  std::vector<std::string> differences;
};

// A message that users of such nodes have seen, with its cause on this one.
struct ExpectedError {
  std::string message;
  std::string cause;
  std::string remedy;
};

struct Plan {
  const PlanFacts& facts;
  std::vector<FabricPlan> fabrics;  // a group of rails each; empty: no RDMA device for pods
  std::vector<OtherCard> others;
  std::vector<NotOffered> not_offered;
  std::vector<ConfiguredResource> configured;
  std::vector<ExpectedError> errors;
  Json config;  // all recommended ways as one configuration; null: none
};

// `facts` has to outlive the plan.
Plan make_plan(const PlanFacts& facts);

const char* name_of(WayKind kind);  // "shared", "per_rail"

// The shares of each number of GPUs that pods of this node usually have: 1, 2, 4, ..., all.
std::vector<GpuShare> shares_of(const FabricPlan& fabric, const Way& way, size_t gpus);

}  // namespace vfrail::plugin
