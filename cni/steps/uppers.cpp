#include "cni/steps/uppers.h"

#include "cni/node/find_link.h"
#include "cni/node/hidden_namespaces.h"
#include "cni/node/host_use.h"
#include "cni/node/namespaces.h"
#include "common/errors/error_id.h"
#include "common/text.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace vfrail::cni {

namespace {

// Their IFLA_LINK is the peer, not a lower interface.
constexpr std::array kPairs = {"veth", "vxcan", "netkit"};

bool is_pair(const Link& link) { return std::find(kPairs.begin(), kPairs.end(), link.kind) != kPairs.end(); }

// The links of the namespace that stand on `lower`, which is in another one.
Result<std::vector<Link>> uppers_in(Kernel& there, const Lower& lower) {
  std::vector<Link> out = TRY(there.links(), "find what stands on " + lower.link.name);
  std::erase_if(out, [&](const Link& link) {
    return link.lower != lower.link.index || !link.lower_nsid || link.kind.empty() || is_pair(link);
  });
  if (out.empty()) return out;
  // The same index in a third namespace is another link.
  const auto nsid = TRY(there.nsid_of(lower.netns.netns_fd()));
  std::erase_if(out, [&](const Link& link) { return link.lower_nsid != nsid; });
  return out;
}

Result<> remove_links(Kernel& there, const std::vector<Link>& uppers, const Link& lower, World& world) {
  std::vector<int> indices;
  std::vector<std::string> names;
  for (const Link& upper : uppers) {
    indices.push_back(upper.index);
    if (names.size() < 8) names.push_back(upper.name + " (" + upper.kind + ")");
  }
  world.log.warning("removed interfaces that a pod had stacked on the device",
                    {{"device", lower.name},
                     {"count", std::to_string(uppers.size())},
                     {"interfaces", joined(names)},
                     {"id", id_text(ErrorId::pod_changes_undone)}});
  return there.remove_links(indices);
}

// `found` becomes true if there are any.
Result<> remove_uppers_in(Kernel& there, const Lower& lower, World& world, bool& found) {
  const auto uppers = TRY(uppers_in(there, lower));
  if (uppers.empty()) return {};
  found = true;
  return remove_links(there, uppers, lower.link, world);
}

// A pod's namespace has a number for the host's if it has a veth pair with it, and by that number, without a
// descriptor, a pod with NET_ADMIN moves interfaces there (IFLA_TARGET_NETNSID). What stood on the device
// before the attachment is the host's, and so is a bond or a bridge of which it has become a member since.
Result<> remove_uppers_in_host(const Record& record, const Link& lower, World& world, bool& found) {
  if (!record.link->uppers) return {};
  const std::vector<int>& own = *record.link->uppers;
  auto uppers = TRY(find_uppers(world.sys, world.host, lower.name));
  std::erase_if(uppers, [&](const Link& link) {
    const bool stands = link.lower == lower.index && !link.lower_nsid && !link.kind.empty() && !is_pair(link);
    return !stands || std::find(own.begin(), own.end(), link.index) != own.end();
  });
  if (uppers.empty()) return {};
  found = true;
  return remove_links(world.host, uppers, lower, world);
}

bool is_the_hosts(const UpperLink& upper, const Record& record, const World& world) {
  if (upper.netns != world.host.netns_id().inode) return false;
  if (!record.link->uppers) return true;
  const std::vector<int>& own = *record.link->uppers;
  if (std::find(own.begin(), own.end(), upper.index) != own.end()) return true;
  // If it cannot be read it has ended, or the removal says why.
  const auto link = world.host.find_link(upper.index);
  return link && *link && (*link)->lower == 0;
}

std::set<std::string> namespaces_of(const std::vector<UpperLink>& uppers) {
  std::set<std::string> out;
  for (const UpperLink& upper : uppers) out.insert(namespace_name({0, upper.netns}));
  return out;
}

Result<> remove_listed_in_host(const std::vector<UpperLink>& uppers, const Link& lower, World& world) {
  std::vector<Link> links;
  for (const UpperLink& upper : uppers) {
    if (upper.netns != world.host.netns_id().inode) continue;
    auto link = TRY(world.host.find_link(upper.index), "in the host");
    if (link) links.push_back(std::move(*link));
  }
  return links.empty() ? Result<>() : remove_links(world.host, links, lower, world);
}

// One round: in the namespaces that have one of `uppers`. What fails is for the next round to see.
void remove_where_listed(const Lower& lower, Kernel* pod, const std::vector<UpperLink>& uppers,
                         World& world) {
  std::set<std::string> names = namespaces_of(uppers);
  const auto note = [&](const Result<>& result) {
    if (!result)
      world.log.debug("what stands on the device cannot be removed there", {{"reason", result.error().text}});
  };
  note(remove_listed_in_host(uppers, lower.link, world));
  names.erase(namespace_name(world.host.netns_id()));
  bool found = false;
  const auto remove = [&](Kernel& there) { return remove_uppers_in(there, lower, world, found); };
  if (pod != nullptr && names.erase(namespace_name(pod->netns_id())) != 0) note(remove(*pod));
  note(visit_namespaces(world, names, remove));
  note(visit_hidden_namespaces(world, names, remove));
}

}  // namespace

Result<std::vector<UpperLink>> list_uppers(const Record& record, const Lower& lower, const World& world) {
  if (!world.upper_links) return Error{Errc::unsupported, 0, "the kernel's list is not known"};
  auto all = TRY(world.upper_links(lower.netns, lower.link.index));
  std::erase_if(all.links, [&](const UpperLink& upper) { return is_the_hosts(upper, record, world); });
  if (all.links.empty() && all.more)
    return Error{Errc::unsupported, 0, "the host itself has more on the device than the list takes"};
  return std::move(all.links);
}

Result<std::string> remove_listed_uppers(std::vector<UpperLink> uppers, const Record& record,
                                         const Lower& lower, Kernel* pod, World& world) {
  std::vector<UpperLink> before;
  while (!uppers.empty()) {
    const bool no_time = SearchTime::Run(world.search).over();
    if (uppers == before || no_time) {
      const std::set<std::string> names = namespaces_of(uppers);
      return counted(uppers.size(), "interface") + " of a pod in " + joined({names.begin(), names.end()}) +
             " on " + lower.link.name +
             (no_time ? ", which there was no time to remove" : ", which cannot be removed");
    }
    remove_where_listed(lower, pod, uppers, world);
    before = std::exchange(uppers, TRY(list_uppers(record, lower, world)));
  }
  return std::string();
}

Result<> remove_ipoib_children(const Record& record, const Link& lower, Kernel* pod, World& world) {
  if (pod != nullptr) {
    const auto children = TRY(find_ipoib_children(lower, *pod));
    if (!children.empty()) TRY(remove_links(*pod, children, lower, world), "in the pod");
  }
  // Where the pod's namespace has ended the kernel has moved them here.
  if (!record.link->uppers) return {};
  const std::vector<int>& own = *record.link->uppers;
  auto children = TRY(find_ipoib_children(lower, world.host));
  std::erase_if(children, [&](const Link& child) {
    return child.index == lower.index || std::find(own.begin(), own.end(), child.index) != own.end();
  });
  return children.empty() ? Result<>() : remove_links(world.host, children, lower, world);
}

Result<> remove_visible_uppers(const Record& record, const Link& lower, Kernel* pod, World& world,
                               bool& found) {
  TRY(remove_uppers_in_host(record, lower, world, found), "in the host");
  const Lower in_host{lower, world.host};
  if (pod != nullptr) TRY(remove_uppers_in(*pod, in_host, world, found), "in the pod");
  const auto done = pod == nullptr ? NetnsId{} : pod->netns_id();
  const auto narrow = [&](NamespacePaths& paths) {
    if (world.erase_without_uppers) world.erase_without_uppers(paths, lower.index);
  };
  return for_each_namespace(
      world, done, [&](Kernel& there) { return remove_uppers_in(there, in_host, world, found); }, narrow);
}

Result<> remove_hidden_uppers(const Link& lower, World& world) {
  bool found = false;
  return for_each_hidden_namespace(world, [&](Kernel& there) {
    return remove_uppers_in(there, {lower, world.host}, world, found);
  });
}

}  // namespace vfrail::cni
