// Reads the counters of netdevs and RDMA devices in the network namespaces of pods. Needs CAP_SYS_ADMIN and
// the host's /run/netns with what is mounted there: `vfrail serve` as root on the node has both, its
// DaemonSet with the chart's value metrics.podCounters.
#pragma once

#include "common/result.h"
#include "plugin/observe/metrics/device_counters.h"

#include <string>

namespace vfrail::plugin {

// The counters of every namespace below run/netns of `root`, where container runtimes keep those of pods, but
// our own. Enters each for a moment, so the calling thread must have nothing else to do meanwhile. Out of
// reach if the folder cannot be read or a namespace cannot be entered, and if there is no such folder below
// another root than "/": it is not mounted there.
PodNamespaces read_pod_namespaces(const std::string& root);
// Adds the counters of the namespace of `kernel` to `out`.
void read_pod_namespace(Kernel& kernel, PodNamespaces& out);

}  // namespace vfrail::plugin
