// A test of the fabric: starts a pod with vfrail-check on each node, measures all pairs in rounds, and
// deletes the pods, whatever happens meanwhile. Prints nothing but progress.
#pragma once

#include "common/result.h"
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/fabric/fabric_report.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace vfrail::kube {

struct FabricOptions {
  std::vector<std::string> nodes =
      {};                     // empty: all that offer the resource; a node named twice gets two pods
  std::string resource = {};  // empty: that of the only network
  uint32_t units = 1;         // for each pod: its rails are tested one after another
  std::string network = {};   // "NAMESPACE/NAME"; empty: the only one of the resource
  bool host_network = false;
  std::string name_space = {};           // of the pods
  std::string image = {};                // empty: that of vfrail's DaemonSet
  uint32_t seconds = 2;                  // each way and rail
  std::chrono::seconds start_time{180};  // for the pods to run
};

// `say` gets a line for each step. A pod or pair that fails is in the report; an error is one that leaves
// nothing to report. At a stop the pods are deleted and Errc::not_yet is returned.
Result<FabricReport> test_fabric(const ClusterAccess& access, const FabricOptions& options,
                                 const std::function<void(const std::string&)>& say, std::stop_token stop);

}  // namespace vfrail::kube
