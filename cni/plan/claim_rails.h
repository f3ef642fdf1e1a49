// The devices of a pod's ResourceClaims, which an entry behind the node's primary network attaches: each is
// an attachment with an interface, a configuration and a record of its own, as the rails of a unit are
// (cni/plan/rails.h). Pure.
#pragma once

#include "cni/conf/request.h"
#include "cni/plan/rails.h"
#include "common/container/claimed_device.h"
#include "common/result.h"

#include <cstdint>
#include <vector>

namespace vfrail::cni {

// In the order of the devices: the first is number 1. `tables` are those that the pod has in use (source
// routing). Errc::invalid: keys of a resource that no attachment accepts, or too many devices.
Result<std::vector<RailRequest>> plan_claimed(const Request& request, const NetConf& conf,
                                              const std::vector<ClaimedDevice>& devices,
                                              const std::vector<uint32_t>& tables);

// The request for the interface of that number, of which neither device nor record is known: an address may
// have been assigned to it.
Request request_of_number(const Request& request, const ClaimsConf& claims, size_t number);

}  // namespace vfrail::cni
