// trace_selection(): for each function and each resource what matched and what failed, and what follows from
// it. Pure. Decides nothing itself: match() makes the pools, and both use the same evaluation.
#pragma once

#include "plugin/device/match/match_result.h"
#include "plugin/device/match/pools.h"
#include "plugin/device/match/selector_match.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// The result of one resource for one function.
struct ResourceTrace {
  std::string resource;
  MatchResult result;
  std::string claimed_by;  // selected, but an earlier resource has it; that one's name
  Fault fault;             // in this pool, and unhealthy
  std::vector<std::vector<FieldMatch>> selectors;  // every field of each

  // The ids of the reasons why the resource does not have it, or has it unhealthy; empty if all is well.
  std::vector<std::string> ids() const;
};

struct FunctionTrace {
  const DeviceFacts* function = nullptr;  // of the inventory
  std::vector<std::string> pools;         // those that have it
  std::vector<ResourceTrace> resources;
  std::string nearest_miss;          // if no pool has it, and one selector is nearest to a match; a sentence
  std::vector<std::string> remarks;  // RDMA namespace mode, LAG, being in another namespace: a sentence each
};

// A trace for each function of the inventory, which has to outlive the traces. `pools` is match()'s result
// for `config` and `inventory`.
std::vector<FunctionTrace> trace_selection(const Config& config, const Inventory& inventory,
                                           const Pools& pools);

// What prevents the use of a function with an RDMA device, or has to be known about it.
std::vector<std::string> find_remarks(const DeviceFacts& function, const Inventory& inventory);

}  // namespace vfrail::plugin
