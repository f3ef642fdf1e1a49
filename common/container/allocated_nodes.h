// AllocatedNodes: which RDMA device nodes (uverbs, umad, issm) of a device a container was allocated. The
// device plugin writes them at Allocate. A move of the RDMA device renumbers them (ib_uverbs_add_one() takes
// the lowest free number), so after it the CNI corrects the CDI spec that they name; without CDI it compares,
// because an answer to kubelet cannot be changed any more.
#pragma once

#include "common/ids.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

inline constexpr const char* kRunFolder = "/run/vfrail";
// A folder in kRunFolder: all that the device plugin writes for vfrail-cni is in it, because a DaemonSet
// mounts it.
inline constexpr const char* kAllocatedFolder = "promised";

struct AllocatedNodes {
  std::vector<std::string> nodes;  // names below /dev/infiniband: "uverbs4"
  std::string cdi_spec;  // path of the spec for the runtime; empty: the nodes are in the answer to kubelet
  // When read: the file that has these nodes, which distinguishes them from the (mostly same) nodes of a
  // later Allocate. Empty with a CDI spec, whose file outlives the attachment.
  std::string file = {};
  bool operator==(const AllocatedNodes& other) const {
    return nodes == other.nodes && cdi_spec == other.cdi_spec;
  }
};

// `run_folder` is created if missing (0700).
Result<> write_allocated_nodes(const std::string& run_folder, const DeviceId& device,
                               const AllocatedNodes& allocated);
// No value if none were written since boot (the folder is on a tmpfs).
Result<std::optional<AllocatedNodes>> read_allocated_nodes(const std::string& run_folder,
                                                           const DeviceId& device);
Result<> remove_allocated_nodes(const std::string& run_folder, const DeviceId& device);
// The device has been restored. AllocatedNodes from an answer to kubelet are void then. Those in a CDI spec
// are not: kubelet can have the sandbox of the same pod created again without another Allocate, and its
// containers from that spec. Nor are those in another file than `file` (AllocatedNodes::file): kubelet can
// have allocated the device again before the DEL of its last pod. No value: any file.
Result<> end_allocated_nodes(const std::string& run_folder, const DeviceId& device,
                             const std::optional<std::string>& file = {});

}  // namespace vfrail
