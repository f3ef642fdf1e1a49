// The driver of a device bound again, which creates its netdev anew: whatever stood upon the old one ends
// with it (NETDEV_UNREGISTER), in whichever namespace. With a reset of the function in between, if the
// network wants it.
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/result.h"

#include <string>
#include <string_view>

namespace vfrail::cni {

// Binds the driver of the record's device again, under the lock of RDMA's moves until its device nodes are
// there: each frees numbers and a name and takes the lowest free ones, which are its own only if no other
// does so at the same time (cni/INTERNALS.md). A single RDMA device gets its name again where that is not in
// use. It does not fail for the lock.
Result<> rebind_in_turn(const Record& record, World& world);

// Whether the record's device is a PCI function whose driver of the kernel can be unbound.
Result<bool> can_rebind(const Record& record, const World& world);

// Under the device's lock, with its interface in the host; restores its RDMA device and its interface
// afterwards. `why` is logged. A kill or a failure in between leaves the record to restore_driver().
Result<> rebind_device(const Record& record, const std::string& why, World& world);

// Why the function of the record's device cannot be reset for the next pod: the kernel has no way to reset it
// alone, or others would lose by it. Empty: it can.
Result<std::string> obstacle_to_reset(const Record& record, const World& world);

// As rebind_device(), with a reset of the function while no driver is bound. Returns why it was not reset, as
// the reason of an unclean device; empty: it was, or it cannot be, which ADD has said.
Result<std::string> reset_device(const Record& record, World& world);
// What such a reason begins with.
inline constexpr std::string_view kNotReset = "it could not be reset";

// Binds the driver of the record's device if rebind_device() or reset_device() had begun to, and left the
// device without one: nothing of the device can be found until then.
Result<> restore_driver(const Record& record, World& world);

}  // namespace vfrail::cni
