// What the pod has got, read for its record: it is what describes the attachment from then on.
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/conf/result.h"
#include "cni/node/world.h"
#include "cni/plan/plan.h"
#include "cni/record/record.h"
#include "cni/verbs/chained.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <optional>

namespace vfrail::cni {

// Reads the RDMA device, its port and link layer before the move, after which the host does not show them any
// more.
Result<InPod> read_rdma_before_move(RdmaPolicy policy, const State& state, const World& world);

// What ADD knows when everything is in place.
struct AddedParts {
  const Request& request;
  const std::optional<Json>& prev_result;
  Chained chained;
  const std::optional<Link>& link;  // in the pod
  const Assignment& assignment;
  InPod in_pod;  // of read_rdma_before_move()
};

// Reads what read_rdma_before_move() has not read, waits for the GID of the first address, and saves it all
// in the record. The pod has what it has in any case: a failure is logged and fails no pod, and `record` is
// as it was then.
void record_in_pod(AddedParts added, Kernel& pod, World& world, Record& record);

// Adds the name of the RDMA device to Multus' file. For network-status only, so a failure fails no pod.
void correct_device_info(const std::string& file, RdmaPolicy rdma, const Record& record, World& world);

// A VF has no traffic while its PF is down, and nothing in the pod shows why.
void warn_of_carrier(const std::optional<Link>& link, const Record& record, World& world);

// Writes the files of the pod, which works without them: a failure is logged.
void describe_to_pod(const Record& record, World& world);

}  // namespace vfrail::cni
