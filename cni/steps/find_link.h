// Which interface is the record's, in the pod and in the host; the searches themselves are in steps.h. Reads
// only.
#pragma once

#include "cni/record/record.h"
#include "common/kernel/kernel.h"

namespace vfrail::cni {

// What neither a move nor a pod changes: the device below, the kind and the lower interface. Interfaces of
// one kind on one parent share these, so more is needed to identify one of them.
bool is_such(const LinkBefore& before, const Link& link);

// A virtual interface that is in the host as it was there. Hardware is known by its device.
bool is_still_in_host(const LinkBefore& before, const Link& link);

}  // namespace vfrail::cni
