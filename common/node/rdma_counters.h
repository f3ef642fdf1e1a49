// Counters of an RDMA device's ports, as sysfs has them in the network namespace that has the device. Reads
// only.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/device_folder.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

struct RdmaPortCounters {
  std::string device;  // "mlx5_4"
  uint32_t port = 1;
  std::vector<NamedCounter> counters;  // by the kernel's names, in its units
};

// The files of the counters of each port: "counters/port_rcv_data", "hw_counters/out_of_sequence".
struct RdmaCounterFiles {
  struct Port {
    uint32_t port = 1;
    std::vector<std::string> files;
  };
  std::vector<Port> ports;
  bool whole = true;  // false: something could not be listed
};

// `below` is the way from the folder to that of the RDMA device, with a '/' at its end, or empty. A counter
// that cannot be read is missing.
std::vector<RdmaPortCounters> read_rdma_counters(const DeviceFolder& folder, const std::string& below,
                                                 const std::string& device);

// The same in two steps, for who reads again and again. `below` as above.
RdmaCounterFiles list_rdma_counters(const DeviceFolder& folder, const std::string& below);
// The way to a port from there.
std::string rdma_port_below(const std::string& below, uint32_t port);
// `below` is the way from the folder to the port's. No value if the counter is not there or has no number.
Result<std::optional<NamedCounter>> read_rdma_counter(const DeviceFolder& folder, const std::string& below,
                                                      const std::string& file);

}  // namespace vfrail
