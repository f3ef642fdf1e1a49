// Which functions are what a cloud or a hypervisor passes through to a virtual machine: VFs by their model
// whose PF is another machine's, and adapters that clouds offer to virtual machines alone. Pure.
#pragma once

#include "common/node/device.h"

#include <string_view>

namespace vfrail::plugin {

// Needs Facts::ids, pf and vf_counts.
bool is_passed_through(const Device& device);

// Whether it does nothing but RDMA and its PCI class is not one of networks, so that one without a driver is
// known as well: Alibaba's eRDMA, "Unclassified device [00ff]". Its interface is another function's, in the
// host. Needs Facts::ids.
bool is_rdma_adapter(const Device& device);
// Whether a vendor makes such adapters: of a selector more is often not known.
bool makes_rdma_adapters(std::string_view vendor);

}  // namespace vfrail::plugin
