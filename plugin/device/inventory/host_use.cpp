#include "plugin/device/inventory/host_use.h"

#include "common/node/netdevs.h"

#include <charconv>
#include <string>
#include <utility>

#include <linux/if.h>

namespace vfrail::plugin {

namespace {

std::string link_folder(const std::string& name) { return "sys/class/net/" + name; }

// sysfs does not name the kind. A VRF is the one beside bonds that sets IFF_MASTER and IFF_NOARP together
// (vrf_dev_init()).
Result<std::string> read_kind_of_master(const SysRoot& sys, const std::string& name) {
  if (TRY(sys.exists(link_folder(name) + "/bonding"))) return std::string("bond");
  if (TRY(sys.exists(link_folder(name) + "/bridge"))) return std::string("bridge");
  if (name == "ovs-system") return std::string("openvswitch");
  const std::string text = TRY(sys.text(link_folder(name) + "/flags")).value_or("");
  if (!text.starts_with("0x")) return std::string();
  unsigned flags = 0;
  std::from_chars(text.data() + 2, text.data() + text.size(), flags, 16);
  constexpr unsigned kVrf = IFF_MASTER | IFF_NOARP;
  return std::string((flags & kVrf) == kVrf ? "vrf" : "");
}

std::vector<std::string> facts_of(const std::string& name,
                                  const std::map<std::string, std::vector<std::string>>& by_link) {
  const auto found = by_link.find(name);
  return found == by_link.end() ? std::vector<std::string>() : found->second;
}

// The interface, and all above it.
Result<> read_links(const SysRoot& sys, const std::string& name, HostLinks& out) {
  if (out.contains(name)) return {};
  HostLink& link = out[name];
  link.master = TRY(sys.link_name(link_folder(name) + "/master")).value_or("");
  link.uppers = TRY(list_uppers(sys, name));
  if (!link.master.empty()) {
    TRY(read_links(sys, link.master, out));
    HostLink& master = out[link.master];
    if (master.kind.empty()) master.kind = TRY(read_kind_of_master(sys, link.master));
  }
  for (const std::string& upper : link.uppers) TRY(read_links(sys, upper, out));
  return {};
}

}  // namespace

Result<> add_host_links(const SysRoot& sys, const std::vector<Netdev>& netdevs, HostLinks& out) {
  for (const Netdev& netdev : netdevs)
    TRY(read_links(sys, netdev.name, out), "find out what uses " + netdev.name);
  return {};
}

std::vector<HostUseFact> find_host_use(const std::vector<Netdev>& netdevs, HostLinks links,
                                       const HostNetwork& network) {
  for (auto& [name, link] : links) {
    link.default_routes = facts_of(name, network.default_routes);
    link.addresses = facts_of(name, network.addresses);
  }
  std::vector<std::string> names;
  for (const Netdev& netdev : netdevs) names.push_back(netdev.name);
  return vfrail::find_host_use(names, links);
}

Result<std::vector<HostUseFact>> read_host_use(const SysRoot& sys, const std::vector<Netdev>& netdevs,
                                               const HostNetwork& network) {
  HostLinks links;
  TRY(add_host_links(sys, netdevs, links));
  return find_host_use(netdevs, std::move(links), network);
}

}  // namespace vfrail::plugin
