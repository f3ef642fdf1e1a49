// The ways of each group of rails of a node, and which of them is recommended. Pure.
#pragma once

#include "plugin/admin/plan/plan.h"

#include <vector>

namespace vfrail::plugin {

// Kubelet's default of pods on a node (maxPods): no more can have a unit at once.
inline constexpr int kPodsOfNode = 110;

// A plan for each group that is for pods.
std::vector<FabricPlan> plan_fabrics(const PlanFacts& facts, const std::vector<RailGroup>& groups);

// Chooses one of the ways of the group, and says why.
void recommend(const PlanFacts& facts, FabricPlan& plan);

}  // namespace vfrail::plugin
