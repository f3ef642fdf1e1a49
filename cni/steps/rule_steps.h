// The routing rules of source routing in the pod's namespace, and their inverse. The routes of its tables
// leave with the link (cni/steps/address_steps.h).
//   add_rules       one for each address of the attachment
//   remove_rules    every one that leads to a table of the attachment
#pragma once

#include "cni/conf/result.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <cstdint>
#include <vector>

namespace vfrail::cni {

// Routes what comes from the assigned addresses by the attachment's own tables, of which `own_table` is the
// first.
Result<> add_rules(Kernel& pod, const Link& link, const Assignment& assignment, uint32_t own_table);

// Removes the rules of an attachment that has tables of its own.
Result<> remove_rules(const Record& record, Kernel& pod);

// The tables that have a rule or a route in the pod, among which an attachment must not choose its own.
Result<std::vector<uint32_t>> tables_in_use(Kernel& pod);

}  // namespace vfrail::cni
