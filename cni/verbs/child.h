// An interface of the pod that stands on one of the host (`mode`): it is created in the pod's namespace and
// removed from it. The host's interface, the master, and its RDMA device stay where they are, as they are.
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/node/world.h"
#include "cni/plan/child_plan.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <optional>

namespace vfrail::cni {

struct PlannedChild {
  ChildPlan plan;
  Record record;
  InPod in_pod;  // the RDMA device of the master, where the pod sees it
};

// Reads and decides; changes nothing.
Result<PlannedChild> prepare_child(const Request& request, const NetConf& conf, Kernel& pod, World& world);

// Creates it, up; of IPoIB's the record, which is saved, has the address. Its inverse is remove_child().
Result<Link> create_child(const ChildPlan& plan, Kernel& pod, World& world, Record& record);

// The record's interface in the pod, by its kind and what it stands on: a pod can rename it.
Result<std::optional<Link>> find_child(const Record& record, Kernel& pod);

// Null: the pod's namespace has ended, and the interface with it, or it comes to the host and is removed
// there (IPoIB). One that the pod has moved into another namespace ends with that.
Result<> remove_child(const Record& record, Kernel* pod, World& world);

}  // namespace vfrail::cni
