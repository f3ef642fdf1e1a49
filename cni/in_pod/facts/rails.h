// Rails: the RDMA devices that a pod sees in sysfs, each with its ports, its table of GIDs, and what it has
// of it: character device, network interface. Reads, and decides nothing.
#pragma once

#include "common/ip_address.h"
#include "common/node/gid_table.h"
#include "common/node/rdma_facts.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::pod {

struct RailPort : RdmaPort {
  std::string rate;       // "100 Gb/sec (4X EDR)"
  std::vector<Gid> gids;  // by index
  std::string node_type;  // of the device: "CA", "RNIC"
  Transport transport() const { return transport_of(node_type, link_layer); }
  bool is_roce() const { return transport() == Transport::roce; }
  // What NCCL goes by; iWARP has it as well.
  bool is_ethernet() const { return link_layer == "Ethernet"; }
  // Not of iWARP (GidSearch::of_addresses).
  bool has_gids_of_addresses() const {
    return gids.empty() || gids.front().index != 0 || is_link_local(gids.front().address);
  }
  bool is_active() const { return state == "ACTIVE"; }
  double gbits() const;  // of `rate`; 0: it says none
  const Gid* find(uint32_t index) const;
  // The entry of an address with that version of RoCE.
  const Gid* find(const IpAddress& address, int roce_version) const;
};

struct Rail {
  std::string name;                  // "mlx5_2"
  std::string pci;                   // empty: software (rxe, siw)
  std::string pf;                    // of VFs
  std::string driver;                // "mlx5_core"; of software "rxe" or empty
  std::string uverbs;                // "uverbs2"
  bool has_node = false;             // /dev/infiniband/uverbs2 is there: programs can use the device
  std::vector<std::string> netdevs;  // in this network namespace
  std::optional<int> numa_node;
  std::vector<RailPort> ports;
  // In sysfs: "sys/class/infiniband/mlx5_2".
  std::string folder() const;
};

// In the order of their PCI addresses, then names, which is NCCL's.
Result<std::vector<Rail>> read_rails(const SysRoot& sys);

// A verbs node of any device of the machine: sysfs shows all of them in every namespace.
struct VerbsNode {
  std::string name;    // "uverbs2"
  std::string rdma;    // "mlx5_2"
  std::string pci;     // empty: software
  std::string number;  // "231:194", the device number of its device
};
Result<std::vector<VerbsNode>> read_verbs_nodes(const SysRoot& sys);
// Names in /dev/infiniband; none if there is no such folder.
Result<std::vector<std::string>> list_device_nodes(const SysRoot& sys);

}  // namespace vfrail::pod
