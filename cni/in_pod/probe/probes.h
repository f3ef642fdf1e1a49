// Probes: what cannot be read in a file, and is tried: memory is locked, device nodes are opened, memory is
// registered with RDMA devices. Values only; memory_probe.h and verbs_probe.h try.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::pod {

struct LockProbe {
  uint64_t bytes = 0;  // that were to be locked; 0: the memory limit leaves too little to try
  int error = 0;       // errno
};

// Opening a character device in /dev/infiniband.
struct NodeProbe {
  std::string name;    // "uverbs2"
  std::string number;  // "231:194", of the node; sysfs has its device's
  int error = 0;
};

// Of one RDMA device, by libibverbs and the drivers that are linked in.
struct VerbsProbe {
  std::string device;               // "mlx5_2"
  std::string failed;               // which call failed: "open", "register"; empty: none
  int error = 0;                    // errno of that
  uint32_t active_mtu = 0;          // of its first port, in bytes; 0: not read
  std::optional<bool> dmabuf = {};  // whether its driver registers dma-buf; no value: not known
};

struct Probes {
  LockProbe lock;
  std::vector<NodeProbe> nodes;
  std::vector<VerbsProbe> verbs;
};

}  // namespace vfrail::pod
