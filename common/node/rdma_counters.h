// Counters of an RDMA device's ports, as sysfs has them in the network namespace that has the device. Reads
// only.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/device_folder.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail {

struct RdmaPortCounters {
  std::string device;  // "mlx5_4"
  uint32_t port = 1;
  std::vector<NamedCounter> counters;  // by the kernel's names, in its units
};

// `below` is the way from the folder to that of the RDMA device, with a '/' at its end, or empty. A counter
// that cannot be read is missing.
std::vector<RdmaPortCounters> read_rdma_counters(const DeviceFolder& folder, const std::string& below,
                                                 const std::string& device);

}  // namespace vfrail
