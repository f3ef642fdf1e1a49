// The facts of a function that selectors compare, and their text for reasons. Pure.
#pragma once

#include "plugin/inventory/inventory.h"

#include <string>
#include <vector>

namespace vfrail {

// "none" for an empty text.
std::string or_none(std::string text);

// For messages: the value of the function.
std::string found_pf_name(const PciFunction& function);
std::string found_root_device(const PciFunction& function);
std::string found_subsystem(const PciFunction& function);
std::string found_link_type(const PciFunction& function);

// The interface of a virtio device is that of the virtioN below it, where the peers do not search: a list of
// link types does not select it.
std::string compared_link_type(const PciFunction& function);

// Of its own netdevs and RDMA devices, as far as they are in the host.
std::vector<std::string> net_names(const PciFunction& function);
std::vector<std::string> macs(const PciFunction& function);
std::vector<std::string> link_states(const PciFunction& function);
std::vector<std::string> rdma_names(const PciFunction& function);

// Empty: none.
std::string numa_text(const PciFunction& function);
std::string aux_type(const PciFunction& function);  // "sf"

}  // namespace vfrail
