// read_kernel_message(): what one message of the kernel has to do with the inventory. Pure. Never says what
// changed: a message only means "look again", and what cannot matter (the veths of pods, routes to pods) must
// not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace vfrail {

// Where the kernel says it.
enum class KernelSource : uint8_t {
  uevent,   // NETLINK_KOBJECT_UEVENT
  route,    // NETLINK_ROUTE: links and routes
  rdma,     // NETLINK_RDMA, the notify group
  devlink,  // generic netlink, devlink's config group
};
const char* name_of(KernelSource kind);

// In a few words what the message is about ("pci bind 0000:21:10.0"), for the log; nothing if it cannot
// matter or is torn. A datagram of a source other than uevent can hold several messages: the first that
// matters counts.
std::optional<std::string> read_kernel_message(KernelSource kind, std::span<const std::byte> datagram);

}  // namespace vfrail
