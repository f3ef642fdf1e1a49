#include "cni/steps/stacked.h"

#include "cni/conf/net_conf.h"
#include "cni/node/device.h"
#include "cni/node/hidden_namespaces.h"
#include "cni/node/host_use.h"
#include "cni/node/namespaces.h"
#include "cni/steps/find_link.h"
#include "cni/steps/link_steps.h"
#include "cni/steps/rdma_steps.h"
#include "cni/steps/wait_step.h"
#include "common/errors/error_id.h"
#include "common/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

namespace vfrail::cni {

namespace {

// Their IFLA_LINK is the peer, not a lower interface.
constexpr std::array kPairs = {"veth", "vxcan", "netkit"};

bool is_pair(const Link& link) { return std::find(kPairs.begin(), kPairs.end(), link.kind) != kPairs.end(); }

// The links of the namespace that stand on `lower` of the host.
Result<std::vector<Link>> uppers_in(Kernel& there, const Link& lower, const World& world) {
  std::vector<Link> out = TRY(there.links(), "find what stands on " + lower.name);
  std::erase_if(out, [&](const Link& link) {
    return link.lower != lower.index || !link.lower_nsid || link.kind.empty() || is_pair(link);
  });
  if (out.empty()) return out;
  // The same index in a third namespace is another link.
  const auto host = TRY(there.nsid_of(world.host.netns_fd()));
  std::erase_if(out, [&](const Link& link) { return link.lower_nsid != host; });
  return out;
}

Result<> remove_links(Kernel& there, const std::vector<Link>& uppers, const Link& lower, World& world) {
  std::vector<int> indices;
  std::vector<std::string> names;
  for (const Link& upper : uppers) {
    indices.push_back(upper.index);
    if (names.size() < 8) names.push_back(upper.name + " (" + upper.kind + ")");
  }
  world.log.warning("removed interfaces that the pod had stacked on its device",
                    {{"device", lower.name},
                     {"count", std::to_string(uppers.size())},
                     {"interfaces", joined(names)},
                     {"id", id_text(ErrorId::pod_changes_undone)}});
  return there.remove_links(indices);
}

// `found` becomes true if there are any.
Result<> remove_uppers_in(Kernel& there, const Link& lower, World& world, bool& found) {
  const auto uppers = TRY(uppers_in(there, lower, world));
  if (uppers.empty()) return {};
  found = true;
  return remove_links(there, uppers, lower, world);
}

// A pod's namespace has a number for the host's if it has a veth pair with it, and by that number, without a
// descriptor, a pod with NET_ADMIN moves interfaces there (IFLA_TARGET_NETNSID). What stood on the device
// before the attachment is the host's.
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

Result<> remove_uppers(const Record& record, const Link& lower, Kernel* pod, World& world, bool& found) {
  TRY(remove_uppers_in_host(record, lower, world, found), "in the host");
  if (pod != nullptr) TRY(remove_uppers_in(*pod, lower, world, found), "in the pod");
  const auto done = pod == nullptr ? NetnsId{} : pod->netns_id();
  const auto narrow = [&](NamespacePaths& paths) {
    if (world.erase_without_uppers) world.erase_without_uppers(paths, lower.index);
  };
  return for_each_namespace(
      world, done, [&](Kernel& there) { return remove_uppers_in(there, lower, world, found); }, narrow);
}

Result<> remove_hidden_uppers(const Link& lower, World& world) {
  bool found = false;
  return for_each_hidden_namespace(
      world, [&](Kernel& there) { return remove_uppers_in(there, lower, world, found); });
}

// Finds also what has no visible name: the reason why the interface is not clear, or empty.
Result<std::string> remainder(const Link& link, World& world) {
  // macvlan in passthru mode raises it while it is up. A sniffer in the host does, too, so only a lasting
  // count matters.
  constexpr int kTries = 20;
  std::optional<Link> now = link;
  for (int i = 0; now && now->promiscuity > (now->promisc_set() ? 1U : 0U); ++i) {
    // The count for address lists, which the move has emptied, is dropped when the interface is set up
    // (__dev_set_rx_mode()).
    if (i == 0 && !now->up()) {
      TRY(world.host.change_link(now->index, {.up = true}), "bring " + now->name + " up");
      TRY(world.host.change_link(now->index, {.up = false}), "take " + now->name + " down");
    }
    if (i == kTries) {
      return now->name + " is in promiscuous mode " + std::to_string(now->promiscuity) +
             " times, for something in a network namespace that cannot be found";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    now = TRY(world.host.find_link(link.index));
  }
  return std::string();
}

Result<> bind_and_wait(const Record& record, World& world) {
  TRY(world.rebind(world.sys, *record.device), "rebind the driver of " + record.device_key);
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  for (;;) {
    // Its RDMA device appears some time after its netdev.
    const auto now =
        TRY(read_device(world.sys, *record.device, Facts::netdevs | Facts::rdma)).value_or(Device());
    if (!now.netdevs.empty() && now.rdma.size() >= record.rdma.size()) return {};
    if (std::chrono::steady_clock::now() >= deadline) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Interfaces on top end with the one below (NETDEV_UNREGISTER), in whichever namespace.
Result<> bind_again(const Record& record, const std::string& why, World& world) {
  world.log.warning(
      "rebinding the driver, to remove what the pod left on the device",
      {{"device", record.device_key}, {"reason", why}, {"id", id_text(ErrorId::pod_changes_undone)}});
  // For the next attempt, if this one is killed while no driver is bound. A sweep's of an unclean device has
  // no record.
  Record marked = record;
  marked.rebinding = true;
  const bool has_file = !record.attachment.container_id.empty();
  const auto saved = has_file ? world.store.save(marked) : Result<>();
  if (!saved) {
    world.log.warning(
        "the record cannot be written before the driver is rebound: if DEL is killed now, the device has no "
        "driver",
        {{"device", record.device_key}, {"reason", saved.error().text}, {"id", saved.error().id_text()}});
  }
  TRY(bind_and_wait(record, world));
  if (has_file && saved) TRY(world.store.save(record), "save that the driver is bound");
  TRY(restore_rdma(record, nullptr, world));
  return restore_link(record, nullptr, world);
}

Result<bool> can_bind_again(const Record& record, const World& world) {
  if (!record.device || !record.device->pci()) return false;
  const auto device = TRY(read_device(world.sys, *record.device, Facts::driver));
  return device && device->driver.kind() == DriverKind::kernel;
}

// Returns whether there were any.
Result<bool> detach_programs(const Link& link, World& world) {
  const auto programs = TRY(world.host.detach_programs(link));
  for (const std::string& program : programs) {
    world.log.warning(
        "detached a program that the pod had attached to its device",
        {{"device", link.name}, {"program", program}, {"id", id_text(ErrorId::pod_changes_undone)}});
  }
  return !programs.empty();
}

// Why the interface is not clear. Empty: it is.
struct Doubt {
  std::string why = {};
  // Nothing is known to be on it, but not all could be inspected, which is so on this node for every device:
  // in a container without a capability.
  bool unseen = false;
};

// `sys` is the error without the capability; any other refusal may be about something that was found.
Doubt unseen(const std::string& what, const Error& error, int sys) {
  return {what + " cannot be found: " + error.text, error.code == Errc::denied && error.sys == sys};
}

// Interrupted dumps have been repeated often enough: a pod changes its links all the time.
bool is_interrupted(const Error& error) { return error.code == Errc::busy && error.sys == EINTR; }

// Without the capability, a second time as at the first.
bool is_unreadable(const Error& error) { return error.code == Errc::denied && error.sys == EACCES; }

// Whether hidden namespaces are searched for a pod that has left no trace. The host shows nothing of a VLAN,
// or a macvlan that is not promiscuous, in another namespace (netdev_adjacent_is_neigh_list()), and looking
// at every descriptor of the node at every DEL would cost more than all the rest. An unclean device that has
// no attachment is not in a hurry.
bool distrusts_pod(const Record& record) {
  if (record.attachment.container_id.empty()) return true;
  const auto conf = parse_net_conf(record.config);
  return conf && conf->safety.pods_have_net_admin;
}

Result<Doubt> clear(const Record& record, const Link& link, Kernel* pod, World& world) {
  // A namespace of somebody else that cannot be listed must not fail this DEL: it only costs a rebind.
  bool has_stacked = false;
  auto removed = remove_uppers(record, link, pod, world, has_stacked);
  if (!removed && !is_interrupted(removed.error()) && !is_unreadable(removed.error()))
    removed = remove_uppers(record, link, pod, world, has_stacked);
  Doubt doubt;
  if (!removed) doubt = unseen("what stands on " + link.name, removed.error(), EACCES);
  if (!doubt.why.empty() && !doubt.unseen) return doubt;
  auto detached = detach_programs(link, world);
  if (!detached.ok() && detached.error().sys != EPERM) return std::move(detached).error();
  if (!detached.ok()) doubt = unseen("BPF programs on " + link.name, detached.error(), EPERM);
  const bool has_attached = detached.ok() && *detached;
  const auto now = link.xdp_modes == 0 ? std::optional<Link>(link) : TRY(world.host.find_link(link.index));
  if (now && link.xdp_modes != 0 && now->xdp_modes != 0)
    return Doubt{"an XDP program stays attached to " + now->name};
  std::string trace = now ? TRY(remainder(*now, world)) : std::string();
  if (trace.empty() && !has_stacked && !has_attached && !distrusts_pod(record)) return doubt;
  // A pod that has done one of these can have done it where the first search does not look.
  const auto hidden = remove_hidden_uppers(link, world);
  if (!trace.empty()) trace = now ? TRY(remainder(*now, world)) : std::string();
  if (!trace.empty() && !hidden) trace += "; " + hidden.error().text;
  if (!trace.empty()) return Doubt{std::move(trace)};
  return hidden ? doubt : unseen("what else stands on " + link.name, hidden.error(), EACCES);
}

}  // namespace

Result<> restore_driver(const Record& record, World& world) {
  if (!record.rebinding || !record.device) return {};
  const auto device = TRY(read_device(world.sys, *record.device, Facts::driver));
  return !device || device->driver.is_bound() ? Result<>() : bind_and_wait(record, world);
}

Result<std::vector<std::string>> clear_interface(const Record& record, Kernel* pod, World& world) {
  const auto link = TRY(find_link_in_host(record, world));
  if (!link) {
    TRY(must_have_ended(record, world));
    return std::vector<std::string>();
  }
  Doubt doubt = TRY(clear(record, *link, pod, world));
  if (doubt.why.empty()) return std::vector<std::string>();
  if (TRY(can_bind_again(record, world))) {
    // Not searched again: nothing can be on a netdev that was just created.
    TRY(bind_again(record, doubt.why, world));
    return std::vector<std::string>();
  }
  if (!doubt.unseen) return std::vector{std::move(doubt.why)};
  world.log.warning(
      "cannot see whether the pod left something on the device, and cannot rebind its driver",
      {{"device", record.device_key}, {"reason", doubt.why}, {"id", id_text(ErrorId::permission_denied)}});
  return std::vector<std::string>();
}

}  // namespace vfrail::cni
