#include "plugin/netdev_facts.h"

#include "common/uplink.h"

#include <algorithm>

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
  std::vector<std::string> names;
  for (const Netdev& netdev : netdevs) names.push_back(netdev.name);
  const std::string uplink = choose_uplink(sys, names);
  const auto at = std::find(names.begin(), names.end(), uplink);
  return at == names.end() ? nullptr : &netdevs[static_cast<size_t>(at - names.begin())];
}

std::string link_type_name(uint16_t arphrd) {
  if (arphrd == ARPHRD_ETHER) return "ether";
  if (arphrd == ARPHRD_INFINIBAND) return "infiniband";
  return {};
}

}  // namespace vfrail
