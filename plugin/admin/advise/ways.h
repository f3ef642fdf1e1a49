// The ways of one fabric of a node, and which of them is recommended. Pure.
#pragma once

#include "plugin/admin/advise/plan.h"

#include <vector>

namespace vfrail::plugin {

// Kubelet's default of pods on a node (maxPods): no more can have a unit at once.
inline constexpr int kPodsOfNode = 110;

// A plan for each fabric that has devices for pods.
std::vector<FabricPlan> plan_fabrics(const PlanFacts& facts);

// Chooses one of the ways of the fabric, and says why.
void recommend(const PlanFacts& facts, FabricPlan& plan);

// "200 Gb/s"; empty if the speed is not known.
std::string speed_of(const PlanFacts& facts, const DeviceFacts& function);
}  // namespace vfrail::plugin
