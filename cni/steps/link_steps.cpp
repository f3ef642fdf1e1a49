#include "cni/steps/link_steps.h"

#include "cni/node/find_link.h"
#include "cni/node/hidden_namespaces.h"
#include "cni/node/link_differences.h"
#include "cni/node/namespaces.h"
#include "cni/steps/name_step.h"
#include "cni/steps/wait_step.h"
#include "common/errors/error_id.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace vfrail::cni {

namespace {

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What differs between the present link and the recorded one.
LinkChange difference(const LinkBefore& before, const Link& now) {
  LinkChange change;
  // IPoIB's address contains the number of a queue pair, which differs each time; its GUID is set at the PF.
  if (now.mac != before.mac && !before.ipoib()) change.mac = before.mac;
  if (before.has_other_broadcast(now)) change.broadcast = before.broadcast;
  if (now.mtu != before.mtu) change.mtu = before.mtu;
  if (now.tx_queue_len != before.tx_queue_len) change.tx_queue_len = before.tx_queue_len;
  if (now.alias != before.alias) change.alias = before.alias;
  if (now.promisc_set() != before.promisc) change.promisc = before.promisc;
  if (now.allmulti_set() != before.allmulti) change.allmulti = before.allmulti;
  change.options = before.options.differing_from(now.options);
  return change;
}

// Linux 5.10 still lists alternative names after the end of the namespace in which they were set, and refuses
// to remove them (ENOENT); they are not in the way of others.
Result<> drop_altname(const std::string& name, const Link& link, Kernel& where) {
  auto removed = where.remove_altname(link.index, name);
  if (removed || removed.error().sys == ENOENT) return {};
  return std::move(removed.error()).in(link.name);
}

// The pod can have added alternative names that other devices of the node use.
Result<> drop_foreign_altnames(const LinkBefore& before, const Link& now, Kernel& where) {
  for (const std::string& name : foreign_altnames(before, now)) TRY(drop_altname(name, now, where));
  return {};
}

Result<> restore_altnames(const LinkBefore& before, const Link& now, Kernel& host) {
  TRY(drop_foreign_altnames(before, now, host));
  for (const std::string& name : before.altnames) {
    if (has_name(now.altnames, name)) continue;
    auto added = host.add_altname(now.index, name);
    // Used by another interface by now: a retry would not help.
    if (!added && added.error().sys != EEXIST) return std::move(added.error()).in("restore " + now.name);
  }
  return {};
}

// One property per message, after the change as a whole was refused. A property that the driver refuses to
// restore (an address under the administrator's control, say) is reported and no error: a retry would not
// help.
void apply_each(const LinkChange& change, const Link& now, World& world) {
  const auto apply = [&](const char* what, const LinkChange& one) {
    const auto result = world.host.change_link(now.index, one);
    if (!result) {
      world.log.warning("the driver refused to restore a property", {{"name", now.name},
                                                                     {"property", what},
                                                                     {"reason", result.error().text},
                                                                     {"id", result.error().id_text()}});
    }
  };
  if (change.mac && !world.host.change_link(now.index, {.mac = change.mac})) {
    // A driver such as igbvf reads the address that the PF has restored when it is set down.
    if (!now.up()) apply("up", {.up = true});
    apply("down", {.up = false});
    apply("mac", {.mac = change.mac});
    if (now.up()) apply("up", {.up = true});
  }
  if (change.broadcast) apply("broadcast", {.broadcast = change.broadcast});
  if (change.mtu) apply("mtu", {.mtu = change.mtu});
  if (change.tx_queue_len) apply("txQLen", {.tx_queue_len = change.tx_queue_len});
  if (change.alias) apply("alias", {.alias = change.alias});
  if (change.promisc) apply("promisc", {.promisc = change.promisc});
  if (change.allmulti) apply("allmulti", {.allmulti = change.allmulti});
  for (const auto& row : LinkOptions::kRows) {
    if (!(change.options.*row.value)) continue;
    LinkChange one;
    one.options.*row.value = change.options.*row.value;
    apply(row.name, one);
  }
}

// Restores the name last. Another DEL's rebind can create an interface at the same time, for which the kernel
// chooses the lowest free name, which can be this one again (EEXIST).
Result<> rename_in_host(const Record& record, const Link& now, LinkChange change, World& world) {
  constexpr int kMostTries = 10;
  for (int tries = 1;; ++tries) {
    auto renamed = world.host.change_link(now.index, change);
    if (renamed || renamed.error().sys != EEXIST) return renamed;
    change.name = TRY(own_name(record, now, tries == kMostTries, world));
    if (!change.name) return change.up ? world.host.change_link(now.index, change) : Result<>();
  }
}

// The link is in the host already: returned by the kernel, or never moved.
Result<> restore_in_host(const Record& record, Link now, World& world) {
  const LinkBefore& before = *record.link;
  LinkChange change = difference(before, now);
  if (now.name != before.name) {
    // The pod can have added it as an alternative name, which the kernel then refuses as a name.
    if (std::erase(now.altnames, before.name.text()) > 0) TRY(drop_altname(before.name, now, world.host));
    change.name = TRY(own_name(record, now, false, world));
  }
  if (now.up() != before.up) change.up = before.up;
  // Kernels before 6.2 do not rename an interface that is up, and they apply flags last.
  if (change.name && now.up()) {
    TRY(world.host.change_link(now.index, {.up = false}), "take " + now.name + " down");
    change.up = before.up;
  }
  const bool differs = change != LinkChange{};
  if (differs && !world.host.change_link(now.index, change)) {
    apply_each(change, now, world);
    const LinkChange rest{.name = change.name, .up = change.up};
    if (rest.name || rest.up) {
      TRY(rename_in_host(record, now, rest, world), "restore " + before.name + " (now " + now.name + ")");
    }
  }
  return restore_altnames(before, now, world.host);
}

// An alternative name that another interface of the host uses by now blocks the move (EEXIST).
Result<> drop_taken_altnames(const Link& link, Kernel& pod, World& world) {
  for (const std::string& name : link.altnames) {
    if (!TRY(world.host.find_link(name))) continue;
    world.log.warning(
        "the interface was restored without an alternative name, because another interface uses it",
        {{"interface", link.name}, {"name", name}, {"id", id_text(ErrorId::host_name_taken)}});
    TRY(pod.remove_altname(link.index, name), link.name + " in the pod");
  }
  return {};
}

// Before the move, so that the host's udev sees one name only: the kernel announces the arrival before it
// renames (do_setlink()). If renaming fails here, the move renames.
void rename_before_move(const Link& link, const std::string& name, Kernel& pod) {
  if (link.name == name || name == kFallbackName) return;
  const auto renamed = pod.change_link(link.index, {.name = name});
  // Kernels before 6.2 do not rename an interface that is up.
  if (renamed || renamed.error().sys != EBUSY) return;
  if (pod.change_link(link.index, {.up = false}))
    static_cast<void>(static_cast<bool>(pod.change_link(link.index, {.name = name})));
}

// The kernel has chosen it.
Result<> note_new_name(const Record& record, World& world) {
  const auto now = TRY(find_link_in_host(record, world));
  if (now) note_displaced_link(record, {record.link->name, now->name, now->index}, world);
  return {};
}

Result<> return_to_host(const Record& record, const Link& link, Kernel& pod, World& world) {
  const LinkBefore& before = *record.link;
  const auto holder = TRY(world.host.find_link(before.name));
  // Never moved, or returned already: what the pod has is another with its index.
  if (holder && is_still_in_host(before, *holder)) return restore_in_host(record, *holder, world);
  TRY(drop_foreign_altnames(before, link, pod));
  LinkChange change = difference(before, link);
  change.netns_fd = world.host.netns_fd();
  change.name = TRY(name_in_host(record, holder, std::nullopt, world));
  change.up = before.up;
  rename_before_move(link, *change.name, pod);
  const bool whole = static_cast<bool>(pod.change_link(link.index, change));
  const bool has_altnames =
      std::all_of(before.altnames.begin(), before.altnames.end(),
                  [&](const std::string& name) { return has_name(link.altnames, name); });
  if (whole && has_altnames) return *change.name == before.name ? Result<>() : note_new_name(record, world);
  // Refused, perhaps for one property only and perhaps after the move: move it back first, then restore the
  // rest.
  const auto still_there = whole ? std::optional<Link>() : TRY(find_link_in_pod(record, pod));
  if (still_there) {
    TRY(drop_taken_altnames(*still_there, pod, world));
    LinkChange bare{.netns_fd = change.netns_fd, .name = change.name};
    auto moved = pod.change_link(still_there->index, bare);
    if (!moved && moved.error().sys == EEXIST) {  // another interface got the name since
      bare.name = kFallbackName;
      moved = pod.change_link(still_there->index, bare);
    }
    TRY(std::move(moved), "move " + link.name + " back to the host as " + *change.name);
  }
  const auto now = TRY(find_link_in_host(record, world));
  return now ? restore_in_host(record, *now, world) : Result<>();
}

// The address is set right after the move, so if it is refused the link stays in the pod under its old name.
// A driver such as igbvf reads the address that the PF has set when it is set down, and refuses it until
// then.
Result<> finish_without_mac(const Record& record, LinkChange change, Kernel& host, Kernel& pod,
                            Error refusal) {
  const auto still = TRY(host.find_link(record.link->index));
  if (still && still->name == record.link->name) return refusal;  // it was not about the address
  auto link = TRY(pod.find_link(record.link->name));
  if (!link || !is_such(*record.link, *link)) link = TRY(find_link_in_pod(record, pod));
  if (!link) return refusal;
  change.netns_fd = -1;
  const auto address = std::exchange(change.mac, std::nullopt);
  TRY(pod.change_link(link->index, change));
  TRY(pod.change_link(link->index, {.up = false}));
  return pod.change_link(link->index, {.mac = address, .up = true});
}

}  // namespace

Result<Link> move_link(Kernel& from, Kernel& pod, const AttachPlan& plan, const Record& record) {
  const LinkBefore& before = *plan.link;
  for (const std::string& name : plan.own_altnames) {
    TRY(from.remove_altname(before.index, name), before.name);
  }
  LinkChange change;
  if (&from != &pod) change.netns_fd = pod.netns_fd();
  change.name = plan.ifname;
  change.mac = plan.mac;
  change.mtu = plan.mtu;
  plan.settings.put_into(change);
  change.up = true;
  change.eui64 = plan.eui64;
  auto moved = from.change_link(before.index, change);
  if (!moved && change.eui64 && moved.error().sys == EAFNOSUPPORT) {  // a kernel without IPv6
    change.eui64 = false;
    moved = from.change_link(before.index, change);
  }
  if (!moved && change.mac) moved = finish_without_mac(record, change, from, pod, std::move(moved).error());
  TRY(with_id(ErrorId::link_setting_refused, std::move(moved)),
      "move " + before.name + " into the pod as " + plan.ifname);
  // The index can have changed: another link of the pod may have had it.
  auto link = TRY(pod.find_link(plan.ifname), "in the pod");
  if (!link)
    return Error{Errc::protocol, 0,
                 "the kernel moved " + before.name + " of " + record.device_key +
                     " into the pod, which has no " + plan.ifname +
                     ": a program in it has renamed or moved the interface; delete the pod"};
  return std::move(*link);
}

Result<NewIpoib> wait_for_new_ipoib(const Record& record, const LinkBefore& before, Kernel& pod,
                                    World& world) {
  // Only a change in the host ends a wait there, and the interface can come in the pod.
  constexpr std::chrono::milliseconds kAtMost{20};
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  std::optional<NewIpoib> now;
  for (;;) {
    const auto next = std::min(deadline, std::chrono::steady_clock::now() + kAtMost);
    auto found = world.host.wait_for_link(next, [&]() -> Result<bool> {
      now = TRY(find_new_ipoib(record, before, pod, world));
      return now.has_value();
    });
    if (found) return *std::move(now);
    const bool in_time = std::chrono::steady_clock::now() < deadline;
    if (found.error().code == Errc::timeout && in_time) continue;
    return std::move(found.error()).in("wait for the IPoIB interface of " + record.device_key);
  }
}

Result<NewIpoib> bring_ipoib_to_host(const Record& record, const NewIpoib& now, const LinkBefore& before,
                                     Kernel& pod, World& world) {
  const LinkChange back{.netns_fd = world.host.netns_fd(), .name = kFallbackName};
  TRY(pod.change_link(now.link.index, back), "bring " + now.link.name + " to the host, to tune it");
  return wait_for_new_ipoib(record, before, pod, world);
}

Result<Link> wait_for_mac(const AttachPlan& plan, Link link, Kernel& pod, World& world) {
  if (!plan.mac || link.mac == *plan.mac) return link;
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  auto there = pod.wait_for_link(deadline, [&]() -> Result<bool> {
    const auto now = TRY(pod.find_link(link.index));
    if (!now) return Error{Errc::not_found, 0, link.name + " is no longer in the pod; delete the pod"};
    link = *now;
    return link.mac == *plan.mac;
  });
  if (there) return link;
  return std::move(there.error())
      .in("wait for the address " + plan.mac->text() + " of " + link.name + ", which has " + link.mac.text());
}

namespace {

// The pod can have moved it to another namespace. Only hardware can be identified there, by the device below
// it. It is left in another pod's: without a move by the pod, a plugin has given it to that one.
Result<> fetch_from(Kernel& other, const Record& record, World& world) {
  for (const Link& link : TRY(other.links(), "find " + record.device_key)) {
    if (!is_such(*record.link, link)) continue;
    const auto sandboxes = TRY(find_other_sandboxes(record, world));
    if (std::find(sandboxes.begin(), sandboxes.end(), other.netns_id()) != sandboxes.end())
      return Error{Errc::busy, 0,
                   "its interface is " + link.name + " in another pod, by another plugin; delete that pod"};
    world.log.warning(
        "the pod moved the interface to another network namespace; it is moved back to the host",
        {{"device", record.device_key}, {"name", link.name}, {"id", id_text(ErrorId::pod_changes_undone)}});
    return return_to_host(record, link, other, world);
  }
  return {};
}

Error not_returned(const Record& record, const World& world, const Result<>& fetched) {
  std::string text =
      "the interface of " + record.device_key + " (host name " + record.link->name +
      ") has not returned to the host; no interface has for " + std::to_string(world.return_timeout.count()) +
      " ms. A process keeps its network namespace open (lsns -t net), another plugin has attached it, or the "
      "kernel is still destroying it. Kubelet tries again";
  if (!fetched) text += "; " + fetched.error().text;
  return {Errc::busy, 0, std::move(text), ErrorId::device_not_returned};
}

}  // namespace

Result<std::optional<Link>> wait_for_return(const Record& record, World& world) {
  if (!record.link) return std::optional<Link>();
  std::optional<Link> now;
  const auto settled = [&]() -> Result<bool> {
    now = TRY(find_link_in_host(record, world));
    return now.has_value() || !TRY(exists_somewhere(record, world));
  };
  if (TRY(settled())) return now;
  const bool is_hardware = !record.link->parent_device.empty();
  const auto fetch = [&](Kernel& other) { return fetch_from(other, record, world); };
  const auto wait = [&](std::chrono::milliseconds at_most) {
    const auto until = std::chrono::steady_clock::now() + std::min(at_most, world.return_timeout);
    return world.host.wait_for_link(until, settled);
  };
  const auto in_vain = [](const Result<>& waited) { return !waited && waited.error().code == Errc::timeout; };
  auto returned = wait(kQuickReturn);
  Result<> fetched;
  if (in_vain(returned)) {
    if (is_hardware) fetched = for_each_namespace(world, NetnsId{}, fetch);
    if (TRY(settled())) return now;
    returned = wait(kUsualReturn);
  }
  if (in_vain(returned)) {
    auto hidden = is_hardware ? for_each_hidden_namespace(world, fetch) : Result<>();
    if (fetched) fetched = std::move(hidden);
    if (TRY(settled())) return now;
    returned = wait_for_host_link(world, settled);
  }
  if (!returned && returned.error().code == Errc::timeout) return not_returned(record, world, fetched);
  TRY(std::move(returned), "wait for " + record.link->name);
  return now;
}

Result<> restore_link(const Record& record, Kernel* pod, World& world) {
  if (!record.link) return {};
  if (pod != nullptr) {
    if (const auto link = TRY(find_link_in_pod(record, *pod)))
      return return_to_host(record, *link, *pod, world);
  }
  const auto now = TRY(wait_for_return(record, world));
  if (now) return restore_in_host(record, *now, world);
  world.log.warning(
      "the interface no longer exists, so it cannot be restored",
      {{"device", record.device_key}, {"name", record.link->name}, {"id", id_text(ErrorId::device_gone)}});
  return {};
}

}  // namespace vfrail::cni
