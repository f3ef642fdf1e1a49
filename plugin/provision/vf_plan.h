// The part of provision_plan() that is about single VFs: what each gets, and the steps of those that exist.
// Pure.
#pragma once

#include "plugin/provision/plan.h"

#include <cstdint>
#include <vector>

namespace vfrail::plugin {

// What VF number `index` of the PF is to have. Sources of addresses other than `repair` and `derived` are as
// long as the PF has VFs, which the reader of the configuration has checked.
VfSettings wanted_settings(const VfsEntry& entry, const PfFacts& pf, uint32_t index);

// What keeps all VFs of the PF from their settings: the PF has no interface, or no address to derive from.
std::vector<Obstacle> setting_obstacles(const VfsEntry& entry, const PfFacts& pf);

// The steps of VFs that do not exist yet, behind StepKind::await_vfs.
void add_new_vfs(const VfsEntry& entry, const PfFacts& pf, PfPlan& out);

// Those of VFs that exist: none of one that is in use, or is as it is wanted.
void add_existing_vfs(const VfsEntry& entry, const PfFacts& pf, const std::string& pods_unknown, PfPlan& out);

}  // namespace vfrail::plugin
