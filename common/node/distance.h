// Distance: how far two PCI functions of a node are apart, in the terms of `nvidia-smi topo -m`. Pure: it
// compares where sysfs shows them plugged in, and decides nothing.
#pragma once

#include "common/ids.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// From near to far. All but `card` are the terms of `nvidia-smi topo -m` and of NCCL, as their legends define
// them; there, functions of one card are PIX as well.
enum class Distance : uint8_t {
  card,  // functions of one card: PFs, VFs and sub-functions behind the same bridge
  pix,   // at most a single PCIe bridge in between: two ports of one PCIe switch
  pxb,   // several PCIe bridges, but no host bridge: behind the same root port
  phb,   // through the host bridge that both have
  node,  // other host bridges, the same NUMA node
  sys,   // another NUMA node: through the interconnect of the CPUs
};

const char* word(Distance distance);  // "CARD", "PIX", "PXB", "PHB", "NODE", "SYS"

// Where a function is plugged in, from wide to narrow; each is the name of what has it. Two functions with
// the same name somewhere have the same names before it, but for the NUMA node.
struct Place {
  std::string numa_node;    // "0", or "-": the kernel does not know (-1), as on a machine with one node
  std::string host_bridge;  // "pci0000:16"
  std::string root_port;
  std::string pcie_switch;  // the switch's upstream port; without a switch, the root port
  std::string card;         // the port that the card is plugged into: in PCIe one port has one card
};

// `path` is what /sys/bus/pci/devices/ADDRESS links to, from the host bridge down to the function; `port` is
// the function, or of a VF its PF.
Place place_of(const PciAddress& port, const std::optional<int>& numa_node,
               const std::vector<std::string>& path);

Distance distance(const Place& a, const Place& b);

}  // namespace vfrail
