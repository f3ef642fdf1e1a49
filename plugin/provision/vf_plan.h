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

// The steps of VFs. Between the two parts sriov_drivers_autoprobe is switched on: without it the kernel binds
// no driver to a VF, whoever asks for it (pci_device_can_probe() in drivers/pci/pci-driver.c).
struct VfSteps {
  std::vector<ProvisionStep> before;
  std::vector<ProvisionStep> binds;
};

// Of VFs that do not exist yet, behind StepKind::await_vfs.
VfSteps new_vf_steps(const VfsEntry& entry, const PfFacts& pf);
// Of VFs that exist: none of one that is in use, or is as it is wanted.
VfSteps existing_vf_steps(const VfsEntry& entry, const PfFacts& pf);
// VFs that keep another driver than the wanted one, because a VM or the host has them. One that a pod has is
// none of them: Kata binds it to vfio-pci for as long as the pod runs.
std::optional<Obstacle> driver_obstacle(const VfsEntry& entry, const PfFacts& pf);

}  // namespace vfrail::plugin
