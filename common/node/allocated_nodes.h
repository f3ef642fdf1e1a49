// The promise: which RDMA device nodes (uverbs, umad, issm) a container was told for a device. The device
// plugin writes it at Allocate. A move of the RDMA device renumbers them (ib_uverbs_add_one() takes the
// lowest free number), so after it the CNI corrects the CDI spec that the promise names; without CDI it
// compares, because what kubelet was told can no longer be changed.
#pragma once

#include "common/ids.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

inline constexpr const char* kRunFolder = "/run/vfrail";

struct AllocatedNodes {
  std::vector<std::string> nodes;  // names below /dev/infiniband: "uverbs4"
  std::string cdi_spec;  // path of the file that tells them to the runtime; empty: kubelet tells them
  bool operator==(const AllocatedNodes&) const = default;
};

// `run_folder` is created if missing (0700).
Result<> write_allocated_nodes(const std::string& run_folder, const DeviceId& device,
                               const AllocatedNodes& allocated);
// Nothing if none was written since boot (the folder is on a tmpfs).
Result<std::optional<AllocatedNodes>> read_allocated_nodes(const std::string& run_folder,
                                                           const DeviceId& device);
Result<> remove_allocated_nodes(const std::string& run_folder, const DeviceId& device);
// The device has been given back. What kubelet told is void then. What a CDI spec tells is not: kubelet can
// have the sandbox of the same pod made again without another Allocate, and its containers from that spec.
Result<> end_allocated_nodes(const std::string& run_folder, const DeviceId& device);

}  // namespace vfrail
