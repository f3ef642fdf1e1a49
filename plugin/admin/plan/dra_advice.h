// Whether pods of a planned node better get the recommended devices by the device plugin or by Dynamic
// Resource Allocation. Pure.
#pragma once

#include "plugin/admin/plan/plan.h"

#include <string>

namespace vfrail::plugin {

// Two or three sentences; empty where no pod gets a device.
std::string advise_dra(const Plan& plan);

}  // namespace vfrail::plugin
