// read_kernel_message(): whether one message of the kernel matters to the inventory. Pure. Does not say what
// changed: a message only requests a rescan, and what cannot matter (the veths of pods, routes to pods) must
// not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace vfrail::plugin {

// The socket that the kernel sends it on.
enum class KernelSource : uint8_t {
  uevent,   // NETLINK_KOBJECT_UEVENT
  route,    // NETLINK_ROUTE: links and routes
  rdma,     // NETLINK_RDMA, the notify group
  devlink,  // generic netlink, devlink's config group
};
const char* name_of(KernelSource kind);

// A few words for the log about what the message is about ("pci bind 0000:21:10.0"); empty if it cannot
// matter or is truncated. A datagram of a source other than uevent can hold several messages: the first that
// matters counts.
std::optional<std::string> read_kernel_message(KernelSource kind, std::span<const std::byte> datagram);

}  // namespace vfrail::plugin
