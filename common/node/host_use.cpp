#include "common/node/host_use.h"

#include "common/text.h"

#include <algorithm>
#include <set>

#include <linux/rtnetlink.h>

namespace vfrail {

namespace {

using Words = std::vector<std::string>;

std::string kind_in_words(const std::string& kind) {
  if (kind.empty()) return kind;
  return kind == "openvswitch" ? " (Open vSwitch)" : " (a " + kind + ")";
}

// One interface's surroundings.
class Surroundings {
 public:
  Surroundings(const HostLinks& links, const std::string& netdev) : links_(links), netdev_(netdev) {
    visit_own(netdev);
  }

  const std::vector<HostUseFact>& memberships() const { return memberships_; }

  void add_facts(HostUseFact::Kind kind, const char* verb, Words HostLink::*words,
                 std::vector<HostUseFact>& out) const {
    for (const std::string& name : visited_) {
      const Words& found = link(name).*words;
      if (!found.empty()) out.push_back({kind, subject(name) + verb + joined(found)});
    }
  }

 private:
  const HostLink& link(const std::string& name) const {
    static const HostLink unknown;
    const auto found = links_.find(name);
    return found == links_.end() ? unknown : found->second;
  }

  // "eth2", "bond0, the master of eth2,", "bond0.100, above eth2,": a subject for "carries".
  std::string subject(const std::string& name) const {
    if (name == netdev_) return name;
    return name + (name == owner_ ? ", the master of " : ", above ") + netdev_ + ",";
  }

  // The interface, and those on top of it, which would move with it (a VLAN): if one of these is a member of
  // something, the interface is in use as well.
  void visit_own(const std::string& name) {
    if (!visited_.insert(name).second) return;
    const HostLink& own = link(name);
    if (!own.master.empty()) {
      const std::string& kind = link(own.master).kind;
      if (kind != "vrf") {
        memberships_.push_back({HostUseFact::Kind::member,
                                subject(name) + " is a member of " + own.master + kind_in_words(kind)});
        if (name == netdev_) owner_ = own.master;
      }
      visit_above(own.master);
    }
    for (const std::string& upper : own.uppers) {
      if (upper != own.master) visit_own(upper);
    }
  }

  void visit_above(const std::string& name) {
    if (!visited_.insert(name).second) return;
    if (!link(name).master.empty()) visit_above(link(name).master);
    for (const std::string& upper : link(name).uppers) visit_above(upper);
  }

  const HostLinks& links_;
  const std::string& netdev_;
  std::string owner_;  // its master, unless that is a VRF
  std::set<std::string> visited_;
  std::vector<HostUseFact> memberships_;
};

}  // namespace

std::string name_default_route(bool v6, std::optional<uint32_t> table) {
  const std::string route = v6 ? "IPv6 default route" : "IPv4 default route";
  if (!table) return "an " + route;
  return "the " + route + " (table " + (*table == RT_TABLE_MAIN ? "main" : std::to_string(*table)) + ")";
}

std::vector<HostUseFact> find_host_use(const std::vector<std::string>& netdevs, const HostLinks& links) {
  std::vector<HostUseFact> out;
  for (const std::string& netdev : netdevs) {
    const Surroundings around(links, netdev);
    around.add_facts(HostUseFact::Kind::default_route, " carries ", &HostLink::default_routes, out);
    out.insert(out.end(), around.memberships().begin(), around.memberships().end());
    around.add_facts(HostUseFact::Kind::address, " has ", &HostLink::addresses, out);
  }
  // A table with one line a device shows only the first.
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
  return out;
}

bool serves_host(const std::vector<HostUseFact>& uses) {
  return std::any_of(uses.begin(), uses.end(), [](const HostUseFact& fact) {
    return fact.kind == HostUseFact::Kind::default_route || fact.kind == HostUseFact::Kind::member;
  });
}

}  // namespace vfrail
