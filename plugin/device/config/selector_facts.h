// The facts of a function that selectors compare, and their text for reasons. Pure.
#pragma once

#include "plugin/device/inventory/inventory.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// "none" for an empty text.
std::string or_none(std::string text);

// For messages: the value of the function.
std::string found_pf_name(const DeviceFacts& function);
std::string found_root_device(const DeviceFacts& function);
std::string found_kind(const DeviceFacts& function);  // for isPf
std::string found_subsystem(const DeviceFacts& function);
std::string found_link_type(const DeviceFacts& function);

// The interface of a virtio device is that of the virtioN below it, where the peers do not search: a list of
// link types does not select it.
std::string compared_link_type(const DeviceFacts& function);

// Of the function's own netdevs and RDMA devices, as far as they are in the host.
std::vector<std::string> net_names(const DeviceFacts& function);
std::vector<std::string> macs(const DeviceFacts& function);
std::vector<std::string> link_states(const DeviceFacts& function);
std::vector<std::string> rdma_names(const DeviceFacts& function);

// Both texts are empty if the function has none.
std::string numa_text(const DeviceFacts& function);
std::string aux_type(const DeviceFacts& function);  // "sf"

}  // namespace vfrail::plugin
