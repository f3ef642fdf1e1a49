// Runs a program in a container of a pod that runs, through the API server and kubelet, as `kubectl exec`
// does: over a WebSocket (v4.channel.k8s.io, which every API server since 1.16 has).
#pragma once

#include "common/result.h"
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/client/resource_type.h"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace vfrail::kube {

struct PodCommand {
  ObjectName pod;
  std::string container = {};  // empty: the pod's first
  std::vector<std::string> words;
  std::chrono::milliseconds time{60'000};  // for all of it
};

struct PodOutput {
  std::string output;  // stdout, at most 4 MiB
  std::string errors;  // stderr, its first 64 KiB
  int exit_code = 0;
};

// Errc::denied without the right `create` and `get` of pods/exec; Errc::not_found: the pod is not there;
// Errc::peer: the program could not be started, with the runtime's words.
Result<PodOutput> run_in_pod(const ClusterAccess& access, const PodCommand& command,
                             std::stop_token stop = {});

}  // namespace vfrail::kube
