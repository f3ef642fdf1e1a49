#include "plugin/inventory/netdev_facts.h"

#include "common/node/uplink.h"

#include <algorithm>

#include <linux/if_arp.h>

namespace vfrail {

namespace {

Result<Netdev> read_netdev(const FunctionFolder& folder, const std::string& name, const std::string& base) {
  Netdev out;
  out.name = name;
  out.mac = TRY(folder.text(base + "address"), "");
  out.mtu = static_cast<uint32_t>(TRY(folder.number(base + "mtu"), "").value_or(0));
  out.type = static_cast<uint16_t>(TRY(folder.number(base + "type"), "").value_or(0));
  out.operstate = TRY(folder.text(base + "operstate"), "");
  // Reading `carrier` of an interface that is administratively down gives EINVAL (net/core/net-sysfs.c).
  const auto carrier = TRY(folder.number(base + "carrier"), "");
  out.up = carrier.has_value();
  out.carrier = carrier == 1;
  return out;
}

}  // namespace

Result<std::vector<Netdev>> read_netdevs(const FunctionFolder& folder, const std::string& driver) {
  std::vector<Netdev> out;
  const auto read_all = [&](const std::string& entry) -> Result<> {
    for (const std::string& name : TRY(folder.list(entry), ""))
      out.push_back(TRY(read_netdev(folder, name, entry + "/" + name + "/"), ""));
    return {};
  };
  TRY(read_all("net"), "");
  if (driver != "virtio-pci") return out;
  for (const std::string& child : TRY(folder.list(""), "")) {
    if (child.starts_with("virtio")) TRY(read_all(child + "/net"), "");
  }
  return out;
}

Result<const Netdev*> find_uplink(const SysRoot& sys, const std::vector<Netdev>& netdevs) {
  std::vector<std::string> names;
  for (const Netdev& netdev : netdevs) names.push_back(netdev.name);
  const std::string uplink = TRY(choose_uplink(sys, names), "");
  const auto at = std::find(names.begin(), names.end(), uplink);
  const Netdev* none = nullptr;
  return at == names.end() ? none : &netdevs[static_cast<size_t>(at - names.begin())];
}

std::string link_type_name(uint16_t arphrd) {
  if (arphrd == ARPHRD_ETHER) return "ether";
  if (arphrd == ARPHRD_INFINIBAND) return "infiniband";
  return {};
}

}  // namespace vfrail
