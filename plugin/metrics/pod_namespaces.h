// Reads the counters of netdevs and RDMA devices in the network namespaces of pods. Needs CAP_SYS_ADMIN and
// the host's mounts: `vfrail serve` as root on the node has them, its DaemonSet does not.
#pragma once

#include "common/result.h"
#include "plugin/metrics/device_counters.h"

#include <string>

namespace vfrail {

// Where container runtimes keep the namespaces of pods.
inline constexpr const char* kNamespaceFolder = "/run/netns";

// Of every namespace below `folder` but our own. Enters each for a moment, so the calling thread must have
// nothing else to do meanwhile. Inaccessible if the folder cannot be read, or a namespace cannot be entered.
PodNamespaces read_pod_namespaces(const std::string& folder);
// Of one of them, to `out`.
void read_pod_namespace(Kernel& kernel, PodNamespaces& out);

}  // namespace vfrail
