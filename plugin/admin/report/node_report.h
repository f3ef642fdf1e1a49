// NodeReport: the content of `vfrail inspect` in every format: each function with its state, its resources,
// its pods, and why it has none. Pure; decides nothing that match() has not decided.
#pragma once

#include "common/errors/warning.h"
#include "plugin/admin/report/claim_facts.h"
#include "plugin/admin/report/hardware.h"
#include "plugin/admin/report/pods.h"
#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/pools.h"
#include "plugin/device/match/selection_trace.h"
#include "plugin/device/prefer/distance.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// In one word; the first that is true.
enum class DeviceState : uint8_t {
  unhealthy,    // in a resource or not: it could not be restored after its last pod
  allocated,    // a pod has it
  other_netns,  // in another network namespace, of an unknown pod or process
  healthy,      // in a resource
  has_vfs,      // a PF whose VFs are advertised; this and what follows: in no resource
  manages_nvlink,
  no_driver,     // none is bound
  host_use,      // a selector matches, but the host uses it
  not_selected,  // no selector matches
  unconfigured,  // there is no configuration
};
// The state as JSON and tables have it: "not_selected".
const char* name_of(DeviceState state);

// Why a function is unhealthy, or is not in those resources: one text for all of them.
struct Reason {
  ErrorId id;
  std::string text;
  std::vector<std::string> resources;  // none: all of them, or there are none
};

struct ResourceUse {
  const Pool* pool = nullptr;
  const PoolDevice* device = nullptr;
};

struct DeviceReport {
  const DeviceFacts* function = nullptr;
  const FunctionTrace* trace = nullptr;
  Hardware hardware;
  DeviceState state = DeviceState::unconfigured;
  std::vector<ResourceUse> resources;
  std::vector<Reason> reasons;
  std::vector<PodUse> pods;
  bool shown = true;  // the requested ones

  std::string id() const { return function->id.text(); }
};

// Everything that the parts of a report refer to, and that has to outlive it.
struct InspectFacts {
  std::string config_file;  // empty: none
  std::optional<Config> config;
  Inventory inventory;
  Pools pools;
  HardwareById hardware;
  PodsById pods;
  ClaimFacts claims;
  std::vector<FunctionTrace> traces;
  std::vector<Warning> warnings;
};

struct NodeReport {
  const InspectFacts& facts;
  std::vector<DeviceReport> devices;  // in the order of the inventory
};

NodeReport make_report(const InspectFacts& facts);

// "PIX": how far the nearest GPU is; empty without a GPU.
std::optional<Distance> nearest_gpu(const DeviceFacts& function, const std::vector<Gpu>& gpus);

}  // namespace vfrail::plugin
