// How the device works beyond its link, and the inverses.
//   tune_device    queues, rings, coalescing, features, packet steering: restore_baseline()
//                  (cni/baseline/baseline.h) restores them, with all that a pod can change of them
//   steer_irqs     the CPUs of its interrupts: restore_irqs
#pragma once

#include "cni/conf/tuning.h"
#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/result.h"

#include <string>

namespace vfrail::cni {

// Sets queues, rings, coalescing, features and packet steering of the netdev, in the host, before it moves:
// drivers make their rings anew, for which the interface is best down. The error names the key, and what the
// driver answered.
Result<> tune_device(const LinkBefore& link, const Tuning& tuning, World& world);

// Sets the CPUs of the device's interrupts, and saves what they were in the record before. Where the device
// is does not matter, but many drivers request interrupts when the interface comes up, and give them back
// when it goes down.
Result<> steer_irqs(const std::string& cpus, Record& record, World& world);

// Restores the CPUs of the device's interrupts. Errors are logged: the next pod is not harmed by them.
void restore_irqs(const Record& record, World& world);

}  // namespace vfrail::cni
