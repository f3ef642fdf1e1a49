// The wait for what the kernel returns to the host from an ended namespace, and whether there is anything to
// wait for. It changes nothing, so it has no inverse.
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/result.h"

#include <chrono>
#include <functional>

namespace vfrail::cni {

// Waits until `ready`. World::return_timeout starts again whenever links of the host change, up to 30 s: the
// kernel ends namespaces one after the other. Errc::timeout after that.
Result<> wait_for_host_link(World& world, const std::function<Result<bool>()>& ready);
// Within the first time the kernel on a quiet node returns what was in an ended namespace; what is still away
// then is searched for in the namespaces of the node. Within the second it mostly does; after that hidden
// namespaces are searched, too (cni/node/hidden_namespaces.h).
inline constexpr std::chrono::milliseconds kQuickReturn{100};
inline constexpr std::chrono::milliseconds kUsualReturn{1000};

// Whether the device still has a netdev, or its RDMA device, somewhere: not once its driver is unbound, or
// one for user space is bound, nor if it ended with its namespace.
Result<bool> exists_somewhere(const Record& record, const World& world);
// For a netdev that is not in the host: Errc::busy if it still exists, or its driver is about to make it
// again. Then there is still something to restore.
Result<> must_have_ended(const Record& record, const World& world);

}  // namespace vfrail::cni
