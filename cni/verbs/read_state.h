// State: the facts that ADD decides on, read from sysfs, the host's namespace and the pod's. Changes nothing.
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/node/world.h"
#include "cni/plan/plan.h"
#include "cni/verbs/chained.h"
#include "common/kernel/kernel.h"
#include "common/log.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// The device with all its parts in the host, and what was allocated of it, by which they are known. A driver
// takes some 100 ms to create its netdev, the kernel up to seconds to return a device from an ended
// namespace. plan_attach() reports what is still missing then.
Result<State> wait_for_parts(Device device, const DeviceSelector& selector, RdmaPolicy rdma, Chained chained,
                             World& world);

// The facts beside the device, which wait_for_parts() has read. Each query of the kernel only if the
// configuration needs its answer.
Result<State> read_state(State state, const NetConf& conf, const Request& request, Kernel& pod, World& world);

// Logs what the network asks for in vain, a sentence each.
void warn_of_keys(const std::vector<std::string>& warnings, World& world);
// Logs that the address to be set is another's on this node, too (State::mac_owners).
void warn_of_mac(const Request& request, const MacKeys& keys, const State& state, Log& log);
// The host's own addresses and routes of the interface: the move removes them.
void warn_of_host_config(const State& state, Log& log);
// That DEL will not reset the device although the network wants it.
void warn_of_reset(const SafetyConf& wanted, const Record& record, World& world);

}  // namespace vfrail::cni
