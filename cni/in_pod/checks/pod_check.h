// A check of a pod from within: whether its RDMA will work, and why not. Reads what CheckedPod has, and
// decides.
#pragma once

#include "cni/in_pod/facts/nccl_settings.h"
#include "cni/in_pod/facts/pod_description.h"
#include "cni/in_pod/facts/pod_network.h"
#include "cni/in_pod/facts/rails.h"
#include "cni/in_pod/nccl/nccl_log.h"
#include "cni/in_pod/probe/probes.h"
#include "cni/in_pod/traffic/traffic_outcome.h"
#include "common/checks/check.h"
#include "common/node/sys_root.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::pod {

struct CheckedPod {
  SysRoot sys;
  PodEnvironment environment;
  Result<std::optional<PodDescription>> file;  // no value: there is none
  Result<std::vector<Rail>> rails;
  Result<PodNetwork> network;
  Result<NcclSettings> nccl;
  std::optional<Probes> probes;                // of the pod that this process is in; none of a captured tree
  std::optional<TrafficOutcome> traffic = {};  // if a test was asked for
  std::optional<Result<NcclLog>> nccl_log = {};  // if one was given

  // The rails that programs can use; of a failed read none.
  std::vector<Rail> own_rails() const;
  // The interface of the pod file that has this RDMA device; null if there is no file, or none has it.
  const DescribedInterface* attachment_of(const Rail& rail) const;
  // Null: there is none of that device.
  const VerbsProbe* find_verbs_probe(const std::string& device) const;
};

using PodCheck = Check<CheckedPod>;
using PodChecks = std::vector<PodCheck>;
const PodChecks& device_checks();  // what the pod was given: the file, device nodes, drivers of the image
const PodChecks& rail_checks();    // ports, interfaces, GIDs, MTU
const PodChecks& gpu_checks();     // how far GPUs and rails are apart
const PodChecks& nccl_checks();
const PodChecks& nccl_log_checks();  // of CheckedPod::nccl_log alone: kNcclLogCheck
inline constexpr const char* kNcclLogCheck = "VF-P23";
const PodChecks& memory_checks();   // limits of memory, rights
const PodChecks& routing_checks();  // routes and rules of several rails
const PodChecks& traffic_checks();  // of CheckedPod::traffic alone
Json traffic_json(const TrafficOutcome& outcome);

// What a check is about and this pod lacks, as Check::lacks has it.
std::string lacks_rails(const CheckedPod& pod);
std::string lacks_rail_pair(const CheckedPod& pod);
std::string lacks_roce(const CheckedPod& pod);
std::string lacks_gpus(const CheckedPod& pod);
std::string lacks_gpu_rails(const CheckedPod& pod);

// "mlx5_2 (net1)".
std::string shown_rail(const Rail& rail);

}  // namespace vfrail::pod
