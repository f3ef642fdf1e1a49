// Plan: the ways to give the RDMA devices of a node to pods, what each takes, and which one is recommended.
// Every number in it comes from a fact that was read; what is not known says what it needs. Pure: match()
// selects the devices of each way, the checks of `vfrail doctor` say what the node lacks.
#pragma once

#include "common/errors/error_id.h"
#include "common/json.h"
#include "plugin/admin/doctor/doctor.h"
#include "plugin/admin/report/hardware.h"
#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/pools.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct PlanFacts {
  Inventory inventory;
  HardwareById hardware;
  std::vector<CheckReport> checks;  // of `vfrail doctor`
  std::string config_file;          // empty: none
  std::optional<Config> config;
};

enum class WayKind : uint8_t {
  shared,  // many pods use the same devices
  whole,   // a pod has a PF
  vfs,     // a pod has a VF
};

// Something to do before a way works; `command` may be empty.
struct Step {
  std::string text;
  std::string command = {};
  bool optional = false;  // works without it, as `text` says
};

struct Way {
  WayKind kind = WayKind::shared;
  std::string resource;  // "rdma/ib_shared"
  Json config;           // the configuration of serve for this way alone
  Pool pool;             // of that configuration on this node
  size_t pods_now = 0;   // units that are healthy
  std::string pods;      // in words
  std::string isolation;
  std::string address;
  std::string gpu_direct;
  std::vector<Step> takes;  // empty: nothing
};

struct FabricPlan {
  Transport fabric = Transport::infiniband;
  bool passed_through = false;            // all cards were, to this virtual machine: no PF, no SR-IOV
  std::vector<const DeviceFacts*> cards;  // PFs that no pod takes from the host
  std::vector<Way> ways;                  // one of each kind
  WayKind recommended = WayKind::shared;
  std::string why;
  std::string later;  // when another way is better; may be empty

  const Way& way(WayKind kind) const;
  const char* title(WayKind kind) const;  // "shared device", "whole PF"
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
  std::vector<FabricPlan> fabrics;  // empty: no RDMA device for pods
  std::vector<NotOffered> not_offered;
  std::vector<ConfiguredResource> configured;
  std::vector<ExpectedError> errors;
  Json config;  // all recommended ways as one configuration; null: none
};

// `facts` has to outlive the plan.
Plan make_plan(const PlanFacts& facts);

const char* name_of(WayKind kind);  // "shared", "whole", "vfs"

}  // namespace vfrail::plugin
