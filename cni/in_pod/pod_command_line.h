// The command line of vfrail-check: options for its check, `explain`, and the commands of every program.
#pragma once

#include "cni/in_pod/checks/pod_check.h"
#include "common/command/command_text.h"

#include <functional>
#include <string>
#include <vector>

namespace vfrail::pod {

CommandText pod_command_line_text();

// Tries what cannot be read, of the pod that this process is in.
using Probe = std::function<Probes(const CheckedPod&)>;

struct PodWorld {
  PodEnvironment environment;
  Probe probe;
  TrafficDevices& devices;
};

// The exit code: 0 done; 1 a finding of --fail-on or worse, or failed; 2 usage. Results are printed on
// stdout, errors on stderr, and so is what happens meanwhile.
int run_pod_command_line(const std::vector<std::string>& arguments, const PodWorld& world);

}  // namespace vfrail::pod
