#include "plugin/inventory/host_use.h"

#include "common/node/netdevs.h"
#include "common/text.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include <linux/if.h>

namespace vfrail::plugin {

namespace {

std::string link_folder(const std::string& name) { return "sys/class/net/" + name; }

Result<bool> is_bond(const SysRoot& sys, const std::string& name) {
  return sys.exists(link_folder(name) + "/bonding");
}
Result<bool> is_bridge(const SysRoot& sys, const std::string& name) {
  return sys.exists(link_folder(name) + "/bridge");
}

// sysfs does not name the kind. A VRF is the one that sets IFF_MASTER and IFF_NOARP together
// (vrf_dev_init()).
Result<bool> is_vrf(const SysRoot& sys, const std::string& name) {
  const std::string text = TRY(sys.text(link_folder(name) + "/flags")).value_or("");
  if (!text.starts_with("0x")) return false;
  unsigned flags = 0;
  std::from_chars(text.data() + 2, text.data() + text.size(), flags, 16);
  constexpr unsigned kVrf = IFF_MASTER | IFF_NOARP;
  return (flags & kVrf) == kVrf && !TRY(is_bond(sys, name));
}

Result<std::string> kind_of_master(const SysRoot& sys, const std::string& name) {
  if (TRY(is_bond(sys, name))) return std::string(" (a bond)");
  if (TRY(is_bridge(sys, name))) return std::string(" (a bridge)");
  return std::string(name == "ovs-system" ? " (Open vSwitch)" : "");
}

// One interface's surroundings.
class Surroundings {
 public:
  static Result<Surroundings> read(const SysRoot& sys, std::string netdev) {
    Surroundings out(sys, std::move(netdev));
    TRY(out.visit_own(out.netdev_));
    return out;
  }

  // "eth2", "bond0, the master of eth2,", "bond0.100, above eth2,": a subject for "carries".
  std::string subject(const std::string& name) const {
    if (name == netdev_) return name;
    return name + (name == master_ ? ", the master of " : ", above ") + netdev_ + ",";
  }
  const std::set<std::string>& links() const { return links_; }
  const std::vector<HostUseFact>& memberships() const { return memberships_; }

 private:
  Surroundings(const SysRoot& sys, std::string netdev) : sys_(sys), netdev_(std::move(netdev)) {}

  // The interface, and those on top of it, which would move with it (a VLAN): if one of these is a member of
  // something, the interface is in use as well.
  Result<> visit_own(const std::string& name) {
    if (!links_.insert(name).second) return {};
    const auto master = TRY(sys_.link_name(link_folder(name) + "/master"));
    if (master && !TRY(is_vrf(sys_, *master))) {
      if (name == netdev_) master_ = *master;
      const std::string who = name == netdev_ ? name : name + ", above " + netdev_ + ",";
      const std::string kind = TRY(kind_of_master(sys_, *master));
      memberships_.push_back({HostUseFact::Kind::member, who + " is a member of " + *master + kind});
    }
    if (master) TRY(visit_above(*master));
    for (const std::string& upper : TRY(list_uppers(sys_, name))) {
      if (!master || upper != *master) TRY(visit_own(upper));
    }
    return {};
  }

  Result<> visit_above(const std::string& name) {
    if (!links_.insert(name).second) return {};
    if (const auto master = TRY(sys_.link_name(link_folder(name) + "/master"))) TRY(visit_above(*master));
    for (const std::string& upper : TRY(list_uppers(sys_, name))) TRY(visit_above(upper));
    return {};
  }

  const SysRoot& sys_;
  std::string netdev_;
  std::string master_;
  std::set<std::string> links_;
  std::vector<HostUseFact> memberships_;
};

void add_facts(const Surroundings& around, HostUseFact::Kind kind, const char* verb,
               const std::map<std::string, std::vector<std::string>>& by_link,
               std::vector<HostUseFact>& out) {
  for (const std::string& name : around.links()) {
    const auto found = by_link.find(name);
    if (found != by_link.end()) out.push_back({kind, around.subject(name) + verb + joined(found->second)});
  }
}

}  // namespace

Result<std::vector<HostUseFact>> find_host_use(const SysRoot& sys, const std::vector<Netdev>& netdevs,
                                               const HostNetwork& network) {
  std::vector<HostUseFact> out;
  for (const Netdev& netdev : netdevs) {
    const auto around = TRY(Surroundings::read(sys, netdev.name), "find out what uses " + netdev.name);
    add_facts(around, HostUseFact::Kind::default_route, " carries ", network.default_routes, out);
    out.insert(out.end(), around.memberships().begin(), around.memberships().end());
    add_facts(around, HostUseFact::Kind::address, " has ", network.addresses, out);
  }
  // The most important fact comes first: a table with one line a device shows only that.
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
  return out;
}

}  // namespace vfrail::plugin
