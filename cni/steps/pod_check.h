// What CHECK compares of the settings that PodSettings has. Changes nothing.
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/result.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail::cni {

// How the pod differs from the settings, a sentence each.
Result<std::vector<std::string>> pod_differences(const PodSettings& wanted, const Link& link, Kernel& pod);

// How the pod's rules and tables differ from those of source routing, a sentence each, for an attachment
// whose first table is `own_table`.
Result<std::vector<std::string>> routing_differences(const Assignment& wanted, uint32_t own_table,
                                                     const Link& link, Kernel& pod);

}  // namespace vfrail::cni
