// The promise: which RDMA device nodes (uverbs, umad, issm) a container was told for a device. The device
// plugin writes it at Allocate, the CNI compares it with the nodes after an RDMA move, which renumbers them
// (ib_uverbs_add_one() takes the lowest free number), and removes it at DEL.
#pragma once

#include "common/ids.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

inline constexpr const char* kRunFolder = "/run/vfrail";

// Nodes are names below /dev/infiniband: "uverbs4". `run_folder` is created if missing (0700).
Result<> write_promise(const std::string& run_folder, const DeviceId& device,
                       const std::vector<std::string>& nodes);
// Nothing if none was written since boot (the folder is on a tmpfs).
Result<std::optional<std::vector<std::string>>> read_promise(const std::string& run_folder,
                                                             const DeviceId& device);
Result<> remove_promise(const std::string& run_folder, const DeviceId& device);

}  // namespace vfrail
