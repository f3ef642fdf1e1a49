// Which functions are what a cloud or a hypervisor passes through to a virtual machine: VFs by their model
// whose PF is another machine's, and adapters that clouds offer to virtual machines alone. Pure.
#pragma once

#include "common/node/device.h"

namespace vfrail::plugin {

// Needs Facts::ids, pf and vf_counts.
bool is_passed_through(const Device& device);

}  // namespace vfrail::plugin
