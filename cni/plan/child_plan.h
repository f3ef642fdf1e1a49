// What ADD creates with `mode`: an interface of the pod upon one of the host. Pure; every refusal is here.
#pragma once

#include "cni/plan/plan.h"

#include <optional>
#include <string>

namespace vfrail::cni {

struct ChildPlan {
  NewLink link;                           // without the namespace
  std::optional<uint32_t> routing_table;  // the attachment's own, with source routing
  bool uses_rdma = false;                 // the pod sees the RDMA device of the master
  std::vector<std::string> in_vain;       // what is asked for in vain, a sentence each
  std::string warning;                    // why it does not, although it has one; empty: none
};

// Of `state` its link is the interface that is stood on, the master.
Result<ChildPlan> plan_child(const Request& request, const NetConf& conf, const State& state);

Record make_child_record(const Request& request, const std::string& network, const State& state,
                         const ChildPlan& plan);

}  // namespace vfrail::cni
