// The RDMA devices into the pod, and their inverse.
//   move_rdma       moves and renames them
//   compare_nodes   changes nothing
//   restore_rdma    moves them to the host, under their names there
// The inverse depends on what it finds alone: it can run whether its step ran, half ran, or did not run. A
// move is under a lock of the node, because it renumbers the device nodes.
#pragma once

#include "cni/node/world.h"
#include "cni/plan/plan.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

// Moves and, if requested, renames. The device nodes are compared with those that the container was
// allocated.
Result<> move_rdma(const Record& record, const AttachPlan& plan, Kernel& pod, World& world);

// In shared mode, after the driver was bound again: the device nodes that the device has must be those that
// the container was allocated. None were: nothing to compare.
Result<> compare_nodes(const Record& record, const std::vector<std::string>& allocated, World& world);

// Moves the RDMA devices to the host, from whichever namespace, and under their old names, unless these are
// in use by now. `pod` is null when its namespace is gone.
Result<> restore_rdma(const Record& record, Kernel* pod, World& world);

// An RDMA device of the record in the pod: by its index, or in an older version's record by its name or its
// function.
Result<std::optional<RdmaDevice>> find_rdma_in_pod(const Record& record, const MovedRdma& moved, Kernel& pod,
                                                   const World& world);

}  // namespace vfrail::cni
