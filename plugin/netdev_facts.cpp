#include "plugin/netdev_facts.h"

#include <algorithm>
#include <cctype>

#include <linux/if_arp.h>

namespace vfrail {

namespace {

Netdev read_netdev(const SysRoot& sys, const std::string& folder, const std::string& name) {
  const std::string base = folder + "/" + name + "/";
  Netdev out;
  out.name = name;
  out.mac = sys.text_or_none(base + "address").value_or("");
  out.mtu = static_cast<uint32_t>(sys.number_or_none(base + "mtu").value_or(0));
  out.type = static_cast<uint16_t>(sys.number_or_none(base + "type").value_or(0));
  out.operstate = sys.text_or_none(base + "operstate").value_or("");
  // Reading `carrier` of an interface that is down gives EINVAL.
  out.carrier = sys.number_or_none(base + "carrier").value_or(0) == 1;
  return out;
}

std::string net_folder(const std::string& function, const std::string& child) {
  return function + "/" + child + "/net";
}

// "p0": how drivers name the port itself; representors are "pf0vf1", "pf0sf4", "c1pf0vf1".
bool port_of_uplink(const std::string& port) {
  return port.size() >= 2 && port[0] == 'p' &&
         std::all_of(port.begin() + 1, port.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string pci_folder(const PciAddress& address) { return "sys/bus/pci/devices/" + address.text(); }

std::vector<Netdev> read_netdevs(const SysRoot& sys, const PciAddress& address) {
  const std::string base = pci_folder(address);
  std::vector<std::string> folders = {base + "/net"};
  for (const std::string& child : sys.list(base)) {
    if (child.starts_with("virtio")) folders.push_back(net_folder(base, child));
  }
  std::vector<Netdev> out;
  for (const std::string& folder : folders) {
    for (const std::string& name : sys.list(folder)) out.push_back(read_netdev(sys, folder, name));
  }
  return out;
}

const Netdev* find_uplink(const SysRoot& sys, const std::vector<Netdev>& netdevs) {
  if (netdevs.size() == 1) return &netdevs.front();  // every VF: nothing to choose, so nothing more to read
  const Netdev* unmarked = nullptr;
  for (const Netdev& netdev : netdevs) {
    // Both files answer EOPNOTSUPP where the driver has no such notion.
    const std::string base = "sys/class/net/" + netdev.name + "/";
    const std::string port = sys.text_or_none(base + "phys_port_name").value_or("");
    const std::string switch_id = sys.text_or_none(base + "phys_switch_id").value_or("");
    if (!switch_id.empty() && port_of_uplink(port)) return &netdev;
    if (unmarked == nullptr && (port.empty() || port_of_uplink(port))) unmarked = &netdev;
  }
  if (unmarked != nullptr) return unmarked;
  return netdevs.empty() ? nullptr : &netdevs.front();
}

std::string link_type_name(uint16_t arphrd) {
  if (arphrd == ARPHRD_ETHER) return "ether";
  if (arphrd == ARPHRD_INFINIBAND) return "infiniband";
  return {};
}

}  // namespace vfrail
