// The configuration of serve for one way: names, and selectors that select the rails of its group and no
// other function of the node. Pure.
#pragma once

#include "common/json.h"
#include "plugin/admin/plan/plan.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// "rdma/roce_400g_rails", of WayKind::per_rail "rdma/roce_400g_rail*"; empty: the way has no resource.
std::string resource_of(const PlanFacts& facts, const RailGroup& group, WayKind kind);

// Null if the way has no resource.
Json make_config(const PlanFacts& facts, const RailGroup& group, WayKind kind);

// The pools of a configuration that the plan has made.
std::vector<Pool> pools_of(const Json& config, const Inventory& inventory);

}  // namespace vfrail::plugin
