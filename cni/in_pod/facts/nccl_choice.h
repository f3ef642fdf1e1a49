// NcclChoice: which RDMA devices, which entry of each table of GIDs and which interface NCCL takes by itself
// in this pod, computed as NCCL 2.21 and later do. Pure.
#pragma once

#include "cni/in_pod/facts/nccl_settings.h"
#include "cni/in_pod/facts/pod_network.h"
#include "cni/in_pod/facts/rails.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::pod {

// The list of NCCL_IB_HCA or NCCL_SOCKET_IFNAME: "=mlx5_2:1,mlx5_6:1", "^docker,lo".
class NcclNames {
 public:
  explicit NcclNames(const std::string& list);
  // Whether NCCL takes what has the name; `port` 0 for what has no ports.
  bool takes(const std::string& name, uint32_t port = 0) const;

 private:
  struct Entry {
    std::string name;
    uint32_t port = 0;  // 0: any
  };
  bool excludes_ = false;
  bool exact_ = false;  // otherwise names are prefixes: "mlx5_1" is "mlx5_10", too
  std::vector<Entry> entries_;
};

// Of a RoCE port. A number that is set is taken without reading the table.
uint32_t choose_gid_index(const RailPort& port, const NcclSettings& settings);

struct NcclRail {
  Rail rail;
  RailPort port;
  uint32_t gid_index = 0;
  // "mlx5_2:1".
  std::string name() const { return rail.name + ":" + std::to_string(port.number); }
};

// By PCI address, as NCCL numbers them. A port that is not ACTIVE, or whose device has no node, is left out.
std::vector<NcclRail> choose_rails(const std::vector<Rail>& rails, const NcclSettings& settings);

// For the sockets of the bootstrap. No value: NCCL finds none, and fails.
std::optional<std::string> choose_socket_interface(const PodNetwork& network, const NcclSettings& settings);

// "NET/IB : Using [0]mlx5_2:1/RoCE [1]mlx5_6:1/RoCE", as NCCL_DEBUG=INFO prints it.
std::string expected_line(const std::vector<NcclRail>& rails);

}  // namespace vfrail::pod
