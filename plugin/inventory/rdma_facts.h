// Reads the RDMA devices of a PCI function from sysfs, with the character devices of every port.
#pragma once

#include "plugin/inventory/function_folder.h"
#include "plugin/inventory/inventory.h"

#include <string>
#include <vector>

namespace vfrail {

// The RDMA devices that are in the host's RDMA namespace, sorted by name. `verbs_nodes` are those of the
// function.
Result<std::vector<RdmaFacts>> read_rdma(const FunctionFolder& folder,
                                         const std::vector<std::string>& verbs_nodes);

// "uverbs4": the entries of infiniband_verbs below the function. That class does not know network namespaces,
// so they stay visible while the RDMA device itself is in a pod.
Result<std::vector<std::string>> read_verbs_nodes(const FunctionFolder& folder);

}  // namespace vfrail
