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

  // What belongs to the interface alone: of a bond or bridge that it is part of, the membership says it, in
  // the same words for all its members.
  void add_facts(HostUseFact::Kind kind, const char* verb, Words HostLink::*words,
                 std::vector<HostUseFact>& out) const {
    for (const std::string& name : beside_) {
      const Words& found = link(name).*words;
      if (!found.empty()) out.push_back({kind, subject(name) + verb + joined(found)});
    }
  }

  void add_memberships(std::vector<HostUseFact>& out) const {
    for (const Membership& one : memberships_) {
      HostUseFact fact{HostUseFact::Kind::member, one.member == netdev_ ? "" : subject(one.member) + " is "};
      fact.what += "part of " + one.master + kind_in_words(link(one.master).kind);
      for (const std::string& name : one.above) {
        const HostLink& above = link(name);
        if (!above.default_routes.empty()) fact.kind = HostUseFact::Kind::default_route;
        if (const std::string does = in_words(above); !does.empty())
          fact.what += (name == one.master ? ", which " : ", on which " + name + " ") + does;
      }
      if (std::find(out.begin(), out.end(), fact) == out.end()) out.push_back(std::move(fact));
    }
  }

 private:
  struct Membership {
    std::string member;
    std::string master;
    Words above;  // the master, and all that is on it
  };

  static std::string in_words(const HostLink& link) {
    Words out;
    if (!link.default_routes.empty()) out.push_back("carries " + joined(link.default_routes));
    if (!link.addresses.empty()) out.push_back("has " + joined(link.addresses));
    return joined(out, " and ");
  }

  const HostLink& link(const std::string& name) const {
    static const HostLink unknown;
    const auto found = links_.find(name);
    return found == links_.end() ? unknown : found->second;
  }

  // "eth2", "eth2.100, above eth2,": a subject for "carries".
  std::string subject(const std::string& name) const {
    return name == netdev_ ? name : name + ", above " + netdev_ + ",";
  }

  // The interface, and those on top of it, which would move with it (a VLAN): if one of these is a member of
  // something, the interface is in use as well.
  void visit_own(const std::string& name) {
    if (!visited_.insert(name).second) return;
    beside_.push_back(name);
    const HostLink& own = link(name);
    if (!own.master.empty()) {
      Words above;
      visit_above(own.master, above);
      // A VRF is above an interface, but does not own it.
      if (link(own.master).kind == "vrf")
        beside_.insert(beside_.end(), above.begin(), above.end());
      else
        memberships_.push_back({name, own.master, std::move(above)});
    }
    for (const std::string& upper : own.uppers) {
      if (upper != own.master) visit_own(upper);
    }
  }

  void visit_above(const std::string& name, Words& above) {
    if (!visited_.insert(name).second) return;
    above.push_back(name);
    if (!link(name).master.empty()) visit_above(link(name).master, above);
    for (const std::string& upper : link(name).uppers) visit_above(upper, above);
  }

  const HostLinks& links_;
  const std::string& netdev_;
  std::set<std::string> visited_;
  Words beside_;  // the interface and those on it, without what its masters are asked for
  std::vector<Membership> memberships_;
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
    around.add_memberships(out);
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
