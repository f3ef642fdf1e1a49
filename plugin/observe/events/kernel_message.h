// read_kernel_message(): whether one message of the kernel matters to the inventory, and what it is about.
// Pure. Does not say what changed: a message only requests a rescan, and what cannot matter (the veths of
// pods, routes to pods) must not.
#pragma once

#include "plugin/observe/events/event_source.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace vfrail::plugin {

// The socket that the kernel sends it on.
enum class KernelSource : uint8_t {
  uevent,   // NETLINK_KOBJECT_UEVENT
  route,    // NETLINK_ROUTE: links and routes
  rdma,     // NETLINK_RDMA, the notify group
  devlink,  // generic netlink, devlink's config group
};
const char* name_of(KernelSource kind);

// A few words for the log about what the message is about ("pci bind 0000:21:10.0"), and its devices, or
// everything if it names none; empty if it cannot matter or is truncated. A datagram of a source other than
// uevent can hold several messages: the words are those of the first that matters.
std::optional<Event> read_kernel_message(KernelSource kind, std::span<const std::byte> datagram);

}  // namespace vfrail::plugin
