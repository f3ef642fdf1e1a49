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
  // Reading `carrier` of an interface that is administratively down gives EINVAL (net/core/net-sysfs.c).
  const auto carrier = sys.number_or_none(base + "carrier");
  out.up = carrier.has_value();
  out.carrier = carrier == 1;
  return out;
}

}  // namespace

std::vector<Netdev> read_netdevs(const FunctionFolder& folder) {
  std::vector<Netdev> out;
  const auto read_all = [&](const std::string& entry, const std::vector<std::string>& names) {
    for (const std::string& name : names) out.push_back(read_netdev(folder.sys(), folder.path(entry), name));
  };
  read_all("net", folder.list("net"));
  if (folder.link_name("driver") != "virtio-pci") return out;
  for (const std::string& child : folder.sys().list(folder.path())) {
    if (child.starts_with("virtio")) read_all(child + "/net", folder.list(child + "/net"));
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
