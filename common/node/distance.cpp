#include "common/node/distance.h"

#include <algorithm>

namespace vfrail {

namespace {

// "0000:17:00" of "0000:17:00.2".
std::string slot(const PciAddress& address) {
  const std::string text = address.text();
  return text.substr(0, text.rfind('.'));
}

}  // namespace

const char* word(Distance distance) {
  switch (distance) {
    case Distance::card:
      return "CARD";
    case Distance::pix:
      return "PIX";
    case Distance::pxb:
      return "PXB";
    case Distance::phb:
      return "PHB";
    case Distance::node:
      return "NODE";
    case Distance::sys:
      return "SYS";
  }
  return "?";
}

// VFs are children of their PF's parent there (pci_iov_add_virtfn()), also when they have a bus number of
// their own.
Place place_of(const PciAddress& port, const std::optional<int>& numa_node,
               const std::vector<std::string>& path) {
  Place out;
  // Documentation/ABI/testing/sysfs-bus-pci: -1 is "unknown".
  out.numa_node = numa_node ? std::to_string(*numa_node) : "-";
  const size_t length = path.size();
  if (length < 3) {
    // Plugged into the host bridge itself, as in many virtual machines: there its slot makes the card. Or the
    // path is not known: then it is near nothing but its own PF.
    out.card = slot(port);
    out.pcie_switch = out.root_port = out.card;
    out.host_bridge = length == 2 ? path[0] : out.card;
    return out;
  }
  out.host_bridge = path[0];
  out.root_port = path[1];
  out.card = path[length - 2];
  // A switch is two bridges on the way: its upstream port, and the downstream port that has the card.
  out.pcie_switch = path[std::max<size_t>(1, length - 3)];
  return out;
}

Distance distance(const Place& a, const Place& b) {
  if (a.card == b.card) return Distance::card;
  if (a.pcie_switch == b.pcie_switch) return Distance::pix;
  if (a.root_port == b.root_port) return Distance::pxb;
  if (a.host_bridge == b.host_bridge) return Distance::phb;
  return a.numa_node == b.numa_node ? Distance::node : Distance::sys;
}

}  // namespace vfrail
