// The checks of vfrail-check in pods that run, grouped as those of nodes are. Runs a program in each pod, and
// changes nothing.
#pragma once

#include "plugin/kube/client/pod_exec.h"
#include "plugin/kube/view/view_commands.h"

#include <functional>
#include <string>
#include <vector>

namespace vfrail::kube {

struct PodSelection {
  std::string name_space;
  std::string labels = {};  // empty: every pod that has devices
  std::string job = {};     // its name, of any kind of job that marks its pods with it
};

// run_in_pod() in the program. Called by several threads.
using RunInPod = std::function<Result<PodOutput>(const PodCommand&)>;

// Exit code 1 with a fault in a pod, or if no pod could be checked.
ViewAnswer show_pod_checks(const OpenReader& open, const RunInPod& run, const PodSelection& selection,
                           const ViewOptions& options);

}  // namespace vfrail::kube
