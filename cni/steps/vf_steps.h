// The settings of a VF at its PF, and their inverse, which has two parts.
//   change_vf                                     sets what the network asks for
//   restore_vf_identity, then restore_vf_policy    set what was there before
// restore_link() (cni/steps/link_steps.h) comes between the two: drivers let a VF take its own address again
// only when the PF's is restored, and nothing of the pod must leave without its VLAN.
#pragma once

#include "cni/node/world.h"
#include "cni/plan/plan.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

namespace vfrail::cni {

// Changes the settings of the VF at its PF, in one request. The error names the settings that the driver
// refused.
Result<> change_vf(Kernel& host, const VfPlan& plan);

// Restores MAC and GUIDs, and binds the driver again after a GUID. Returns what the driver refuses to
// restore, permanently, and what is different then: with it the device is unclean. A PF that is gone has
// removed its VFs; Errc::busy if it has no interface at the moment.
Result<VfSettings> restore_vf_identity(const Record& record, World& world);

// Restores the other settings: VLAN, rates, spoofchk, trust, link state. Returns what the driver refuses to
// restore, permanently, and what is different then: with it the device is unclean. A PF that is gone has
// removed its VFs; Errc::busy if it has no interface at the moment.
Result<VfSettings> restore_vf_policy(const Record& record, World& world);

}  // namespace vfrail::cni
