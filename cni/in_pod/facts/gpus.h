// The GPUs of a pod, and how far its rails are from them. Reads, and decides nothing.
#pragma once

#include "cni/in_pod/facts/rails.h"
#include "common/node/distance.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::pod {

struct PodGpu {
  std::string node;  // "nvidia0", of /dev
  PciAddress address;
  Place place;
};

// Those whose nodes are in /dev. The kernel says in no file of sysfs which function has which node; that
// /proc/driver/nvidia does, if it is there. No value: it is not, so nothing is known.
Result<std::optional<std::vector<PodGpu>>> read_gpus(const SysRoot& sys);

// Names of the nodes of GPUs in /dev: "nvidia0"; not nvidiactl.
Result<std::vector<std::string>> list_gpu_nodes(const SysRoot& sys);

// Of a rail. No value: software, or a function that is not there.
Result<std::optional<Place>> read_place(const SysRoot& sys, const Rail& rail);

}  // namespace vfrail::pod
