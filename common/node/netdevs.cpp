#include "common/node/netdevs.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <linux/if_arp.h>

namespace vfrail {

namespace {

// "p0": how drivers name the port itself; representors are "pf0vf1", "pf0sf4", "c1pf0vf1".
bool port_of_uplink(const std::string& port) {
  return port.size() >= 2 && port[0] == 'p' &&
         std::all_of(port.begin() + 1, port.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Result<> read_settings(const DeviceFolder& folder, const std::string& base, Netdev& out) {
  out.mac = MacAddress::parse(TRY(folder.text(base + "address"))).value_or(MacAddress());
  out.mtu = static_cast<uint32_t>(TRY(folder.number(base + "mtu")).value_or(0));
  out.type = static_cast<uint16_t>(TRY(folder.number(base + "type")).value_or(0));
  out.operstate = TRY(folder.text(base + "operstate"));
  // Reading `carrier` of an interface that is administratively down gives EINVAL (net/core/net-sysfs.c).
  const auto carrier = TRY(folder.number(base + "carrier"));
  out.up = carrier.has_value();
  out.carrier = carrier == 1;
  return {};
}

}  // namespace

Result<std::vector<std::string>> list_netdevs(const DeviceFolder& folder, const Driver& driver) {
  std::vector<std::string> out;
  const auto add_all = [&](const std::string& below) -> Result<> {
    for (const std::string& name : TRY(folder.list(below))) out.push_back(below + "/" + name);
    return {};
  };
  TRY(add_all("net"));
  if (driver.name() != "virtio-pci") return out;
  for (const std::string& child : TRY(folder.list(""))) {
    if (child.starts_with("virtio")) TRY(add_all(child + "/net"));
  }
  return out;
}

Result<std::vector<Netdev>> read_netdevs(const DeviceFolder& folder, const Driver& driver,
                                         NetdevFacts wanted) {
  std::vector<Netdev> out;
  for (const std::string& entry : TRY(list_netdevs(folder, driver))) {
    auto name = IfName::parse(std::string_view(entry).substr(entry.rfind('/') + 1));
    if (!name) return Error{Errc::protocol, 0, "\"" + entry + "\" is not the folder of an interface"};
    Netdev netdev;
    netdev.name = std::move(*name);
    if (wanted.dev_port)
      netdev.dev_port = static_cast<uint32_t>(TRY(folder.number(entry + "/dev_port")).value_or(0));
    if (wanted.settings) TRY(read_settings(folder, entry + "/", netdev));
    out.push_back(std::move(netdev));
  }
  // Listed by name.
  std::stable_sort(out.begin(), out.end(),
                   [](const Netdev& a, const Netdev& b) { return a.dev_port < b.dev_port; });
  return out;
}

Result<std::string> choose_uplink(const SysRoot& sys, const std::vector<std::string>& netdevs) {
  if (netdevs.empty()) return std::string();
  if (netdevs.size() == 1) return netdevs.front();  // nothing to choose, so nothing more to read
  std::string unmarked;
  for (const std::string& name : netdevs) {
    // Both files answer EOPNOTSUPP where the driver does not support them.
    const std::string base = "sys/class/net/" + name + "/";
    const std::string port = TRY(sys.text(base + "phys_port_name")).value_or("");
    const std::string switch_id = TRY(sys.text(base + "phys_switch_id")).value_or("");
    if (!switch_id.empty() && port_of_uplink(port)) return name;
    if (unmarked.empty() && (port.empty() || port_of_uplink(port))) unmarked = name;
  }
  return unmarked.empty() ? netdevs.front() : unmarked;
}

Result<std::vector<std::string>> list_uppers(const SysRoot& sys, const std::string& netdev) {
  std::vector<std::string> out;
  for (const std::string& entry : TRY(sys.list("sys/class/net/" + netdev)).value_or(SysRoot::Names())) {
    if (entry.starts_with("upper_")) out.push_back(entry.substr(6));
  }
  return out;
}

std::string link_type_name(uint16_t arphrd) {
  if (arphrd == ARPHRD_ETHER) return "ether";
  if (arphrd == ARPHRD_INFINIBAND) return "infiniband";
  return {};
}

}  // namespace vfrail
