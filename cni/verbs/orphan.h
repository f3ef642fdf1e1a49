// Whether an attachment still has its device: what ADD, which wants the device, and a sweep decide by. Reads
// only.
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/result.h"

#include <cstdint>
#include <string>

namespace vfrail::cni {

enum class Hold : uint8_t {
  attached,   // its pod lives, and has the device
  elsewhere,  // its pod lives, and the device is neither there nor in the host: the pod has moved it on
  nowhere,    // its pod lives, and the device has no interface: no driver, or one for user space, is bound
  orphaned,   // nobody has it: its pod has ended, or an ADD or DEL was killed, or the node was booted
};

struct HoldResult {
  Hold hold = Hold::orphaned;
  std::string why;
};

// A pod has ended when no path, mount or process of this node leads to its namespace: a runtime can have lost
// the path while processes of the pod live.
Result<HoldResult> find_hold(const Record& record, World& world);

// Whether the device of the record is in the namespace that it was moved into, and a path leads there. What
// an entry of a chain asks about the attachment of an earlier entry.
Result<bool> is_attached(const Record& record, World& world);

}  // namespace vfrail::cni
