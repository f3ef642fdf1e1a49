#include "cni/device.h"
#include "cni/steps.h"

#include <algorithm>
#include <utility>

namespace vfrail {

namespace {

// The kernel's own choice when a name is taken (default_device_exit_net() in net/core/dev.c).
constexpr const char* kFallbackName = "dev%d";

// By what it is: a pod can have renamed it, and another interface can have its name or its index.
bool is_the_links(const Record& record, const Link& link) {
  const LinkBefore& before = *record.link;
  if (!before.parent_device.empty()) return link.parent_device == before.parent_device;
  if (link.kind != before.kind) return false;
  const bool same_name = link.name == before.name || link.name == record.attachment.ifname;
  return link.mac == record.pod_mac || link.mac == before.mac || (same_name && link.index == before.index);
}

// The record's netdev in the host; nothing while it is elsewhere.
Result<std::optional<Link>> find_link_in_host(const Record& record, const World& world) {
  const LinkBefore& before = *record.link;
  if (record.device) {
    const Device device = read_device(world.sys, *record.device);
    for (size_t i = 0; i < device.netdevs.size(); ++i) {
      const std::string& name = device.netdevs[i];
      if (record.port && device.ports[i] != *record.port) continue;  // another one of the same function
      auto link = TRY(world.host.find_link(name), "look for " + name);
      if (link && is_the_links(record, *link)) return link;
    }
    return std::optional<Link>();
  }
  auto link = TRY(world.host.find_link(before.name), "look for " + before.name);
  if (link && is_the_links(record, *link)) return link;
  link = TRY(world.host.find_link(record.attachment.ifname), "look for " + record.attachment.ifname);
  if (link && is_the_links(record, *link)) return link;
  return std::optional<Link>();
}

// The name to come home under: the old one, unless another interface has taken it meanwhile.
Result<std::string> name_at_home(const LinkBefore& before, const std::optional<int>& own_index,
                                 World& world) {
  const auto holder = TRY(world.host.find_link(before.name), "look for " + before.name);
  if (!holder || holder->index == own_index) return before.name;
  world.log.warning("the interface comes home under another name, its own is taken",
                    {{"name", before.name}, {"taken_by", holder->name}});
  return std::string(kFallbackName);
}

// What differs between the link now and the link as it was.
LinkChange difference(const LinkBefore& before, const Link& now) {
  LinkChange change;
  // IPoIB's holds the number of a queue pair, which is another one each time; its GUID is the PF's to set.
  if (now.mac != before.mac && !before.ipoib()) change.mac = before.mac;
  if (now.mtu != before.mtu) change.mtu = before.mtu;
  if (now.tx_queue_len != before.tx_queue_len) change.tx_queue_len = before.tx_queue_len;
  if (now.alias != before.alias) change.alias = before.alias;
  if (now.promisc_set() != before.promisc) change.promisc = before.promisc;
  if (now.allmulti_set() != before.allmulti) change.allmulti = before.allmulti;
  return change;
}

Result<> restore_altnames(const LinkBefore& before, const Link& now, Kernel& host) {
  for (const std::string& name : before.altnames) {
    if (std::find(now.altnames.begin(), now.altnames.end(), name) != now.altnames.end()) continue;
    auto added = host.add_altname(now.index, name);
    // Taken by another interface meanwhile: nothing that a retry could mend.
    if (!added && added.error().sys != EEXIST)
      return std::move(added.error()).in("restore alternative name " + name);
  }
  return {};
}

// One property a message, for when the change as a whole was refused. A property that the driver does not
// take back (an address under the administrator's control, say) is told, not an error: a retry would not
// help.
void apply_each(const LinkChange& change, const Link& now, World& world) {
  const auto apply = [&](const char* what, const LinkChange& one) {
    const auto result = world.host.change_link(now.index, one);
    if (!result) {
      world.log.warning("the driver did not take a property back",
                        {{"name", now.name}, {"property", what}, {"reason", result.error().text}});
    }
  };
  if (change.mac && !world.host.change_link(now.index, {.mac = change.mac})) {
    // A driver such as igbvf hears of the address that the PF has set back when it is taken down.
    if (!now.up()) apply("up", {.up = true});
    apply("down", {.up = false});
    apply("mac", {.mac = change.mac});
    if (now.up()) apply("up", {.up = true});
  }
  if (change.mtu) apply("mtu", {.mtu = change.mtu});
  if (change.tx_queue_len) apply("txQLen", {.tx_queue_len = change.tx_queue_len});
  if (change.alias) apply("alias", {.alias = change.alias});
  if (change.promisc) apply("promisc", {.promisc = change.promisc});
  if (change.allmulti) apply("allmulti", {.allmulti = change.allmulti});
}

// The link is in the host already: sent home by the kernel, or never gone.
Result<> settle(const Record& record, const Link& now, World& world) {
  const LinkBefore& before = *record.link;
  LinkChange change = difference(before, now);
  if (now.name != before.name) {
    const std::string name = TRY(name_at_home(before, now.index, world), "");
    if (name == before.name) change.name = name;
  }
  if (now.up() != before.up) change.up = before.up;
  // Kernels before 6.2 do not rename an interface that is up, and flags are applied last.
  if (change.name && now.up()) {
    TRY(world.host.change_link(now.index, {.up = false}), "take " + now.name + " down");
    change.up = before.up;
  }
  const bool differs = change != LinkChange{};
  if (differs && !world.host.change_link(now.index, change)) {
    apply_each(change, now, world);
    const LinkChange rest{.name = change.name, .up = change.up};
    if (rest.name || rest.up) {
      TRY(world.host.change_link(now.index, rest), "restore " + before.name + " (now " + now.name + ")");
    }
  }
  return restore_altnames(before, now, world.host);
}

// An alternative name that another interface of the host has by now is in the way of the move (EEXIST).
Result<> drop_taken_altnames(const Link& link, Kernel& pod, World& world) {
  for (const std::string& name : link.altnames) {
    if (!TRY(world.host.find_link(name), "look for " + name)) continue;
    world.log.warning("the interface comes home without an alternative name, another has it by now",
                      {{"name", name}});
    TRY(pod.remove_altname(link.index, name), "take alternative name " + name + " off " + link.name);
  }
  return {};
}

Result<> move_home(const Record& record, const Link& link, Kernel& pod, World& world) {
  const LinkBefore& before = *record.link;
  LinkChange change = difference(before, link);
  change.netns_fd = world.host.netns_fd();
  change.name = TRY(name_at_home(before, std::nullopt, world), "");
  change.up = before.up;
  const bool whole = static_cast<bool>(pod.change_link(link.index, change));
  if (whole && link.altnames.size() >= before.altnames.size()) return {};
  // Refused, perhaps for one property only and perhaps after the move: bring it home first, then mend the
  // rest.
  const auto still_there = whole ? std::optional<Link>() : TRY(find_link_in_pod(record, pod), "");
  if (still_there) {
    TRY(drop_taken_altnames(*still_there, pod, world), "");
    const LinkChange bare{.netns_fd = change.netns_fd, .name = change.name};
    TRY(pod.change_link(still_there->index, bare),
        "move " + link.name + " back to the host as " + *change.name);
  }
  const auto now = TRY(find_link_in_host(record, world), "");
  return now ? settle(record, *now, world) : Result<>();
}

// Whether the netdev can still come back by itself.
bool can_return(const Record& record, const World& world) {
  if (record.link->ends_with_its_namespace()) return false;
  return !record.device || !read_device(world.sys, *record.device).driver.empty();
}

// The address comes right after the move, so a refusal of it leaves the link in the pod under its old name. A
// driver such as igbvf hears of the address that the PF has set when it is taken down, and refuses it until
// then.
Result<> finish_without_mac(const Record& record, LinkChange change, Kernel& pod, Error refusal) {
  const auto link = TRY(find_link_in_pod(record, pod), "");
  if (!link) return refusal;  // it was not about the address
  change.netns_fd = -1;
  const auto address = std::exchange(change.mac, std::nullopt);
  TRY(pod.change_link(link->index, change), "");
  TRY(pod.change_link(link->index, {.up = false}), "");
  return pod.change_link(link->index, {.mac = address, .up = true});
}

}  // namespace

Result<Link> move_link(Kernel& host, Kernel& pod, const AttachPlan& plan, const Record& record) {
  const LinkBefore& before = *plan.link;
  for (const std::string& name : plan.own_altnames) {
    TRY(host.remove_altname(before.index, name), "take alternative name " + name + " off " + before.name);
  }
  LinkChange change;
  change.netns_fd = pod.netns_fd();
  change.name = plan.ifname;
  change.mac = plan.mac;
  change.mtu = plan.mtu;
  change.tx_queue_len = plan.tx_queue_len;
  change.promisc = plan.promisc;
  change.allmulti = plan.allmulti;
  change.up = true;
  auto moved = host.change_link(before.index, change);
  if (!moved && change.mac) moved = finish_without_mac(record, change, pod, std::move(moved).error());
  TRY(std::move(moved), "move " + before.name + " into the pod as " + plan.ifname);
  // The index can have changed: another link of the pod may have had it.
  auto link = TRY(pod.find_link(plan.ifname), "look at " + plan.ifname + " in the pod");
  if (!link)
    return Error{Errc::protocol, 0, "the kernel moved " + before.name + " but the pod has no " + plan.ifname};
  return std::move(*link);
}

Result<std::optional<Link>> find_link_in_pod(const Record& record, Kernel& pod) {
  if (!record.link) return std::optional<Link>();
  auto link =
      TRY(pod.find_link(record.attachment.ifname), "look for " + record.attachment.ifname + " in the pod");
  if (link && is_the_links(record, *link)) return link;
  // Renamed in the pod (or never here): look for what it is.
  for (Link& other : TRY(pod.links(), "look for the device in the pod")) {
    if (is_the_links(record, other)) return std::optional<Link>(std::move(other));
  }
  return std::optional<Link>();
}

Result<std::optional<Link>> find_link_at_home(const Record& record, const World& world) {
  return record.link ? find_link_in_host(record, world) : std::optional<Link>();
}

Result<std::optional<Link>> wait_for_return(const Record& record, World& world) {
  std::optional<Link> now = TRY(find_link_at_home(record, world), "");
  if (!record.link) return now;
  if (!now && can_return(record, world)) {
    const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
    auto returned = world.host.wait_for_link(deadline, [&]() -> Result<bool> {
      now = TRY(find_link_in_host(record, world), "");
      return now.has_value() || !can_return(record, world);
    });
    if (!returned && returned.error().code == Errc::timeout) {
      return Error{Errc::busy, 0,
                   "the interface of " + record.device_key + " (was " + record.link->name +
                       ") has not come back within " + std::to_string(world.return_timeout.count()) +
                       " ms: a process still holds the namespace that it is in"};
    }
    TRY(std::move(returned), "wait for " + record.link->name);
  }
  return now;
}

Result<> bring_link_back(const Record& record, Kernel* pod, World& world) {
  if (!record.link) return {};
  if (pod != nullptr) {
    if (const auto link = TRY(find_link_in_pod(record, *pod), ""))
      return move_home(record, *link, *pod, world);
  }
  const auto now = TRY(wait_for_return(record, world), "");
  if (now) return settle(record, *now, world);
  world.log.warning("the interface no longer exists, nothing to bring back",
                    {{"device", record.device_key}, {"name", record.link->name}});
  return {};
}

}  // namespace vfrail
