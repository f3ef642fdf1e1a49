#include "cni/steps/stacked.h"

#include "cni/node/device.h"
#include "cni/node/namespaces.h"
#include "cni/steps/steps.h"
#include "common/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

namespace vfrail {

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
  const auto host = TRY(there.nsid_of(world.host.netns_fd()), "");
  std::erase_if(out, [&](const Link& link) { return link.lower_nsid != host; });
  return out;
}

Result<> remove_uppers_in(Kernel& there, const Link& lower, World& world) {
  const auto uppers = TRY(uppers_in(there, lower, world), "");
  if (uppers.empty()) return {};
  std::vector<int> indices;
  std::vector<std::string> names;
  for (const Link& upper : uppers) {
    indices.push_back(upper.index);
    if (names.size() < 8) names.push_back(upper.name + " (" + upper.kind + ")");
  }
  world.log.warning(
      "interfaces that a pod has set upon its device are removed",
      {{"device", lower.name}, {"count", std::to_string(uppers.size())}, {"interfaces", joined(names)}});
  return there.remove_links(indices);
}

Result<> remove_uppers(const Link& lower, Kernel* pod, World& world) {
  if (pod != nullptr) TRY(remove_uppers_in(*pod, lower, world), "in the pod");
  const auto done = pod == nullptr ? NetnsId{} : pod->netns_id();
  return for_each_namespace(world, done,
                            [&](Kernel& there) { return remove_uppers_in(there, lower, world); });
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
    now = TRY(world.host.find_link(link.index), "");
  }
  return std::string();
}

// Interfaces on top end with the one below (NETDEV_UNREGISTER), in whichever namespace.
Result<> bind_again(const Record& record, const std::string& why, World& world) {
  world.log.warning("the driver of the device is bound again, to free it from what a pod has set upon it",
                    {{"device", record.device_key}, {"reason", why}});
  TRY(world.rebind(world.sys, *record.device), "bind the driver of " + record.device_key + " again");
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  for (;;) {
    // Its RDMA device appears some time after its netdev.
    const auto now =
        TRY(read_device(world.sys, *record.device, Facts::netdevs | Facts::rdma), "").value_or(Device());
    if (!now.netdevs.empty() && now.rdma.size() >= record.rdma.size()) break;
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  TRY(bring_rdma_back(record, nullptr, world), "");
  return bring_link_back(record, nullptr, world);
}

Result<bool> can_bind_again(const Record& record, const World& world) {
  if (!record.device || !record.device->pci()) return false;
  const auto device = TRY(read_device(world.sys, *record.device, Facts::driver), "");
  return device && device->driver.kind() == DriverKind::kernel;
}

Result<> detach_programs(const Link& link, World& world) {
  auto detached = world.host.detach_programs(link);
  if (!detached && detached.error().sys == EPERM) {
    // In a container that may not query BPF programs; XDP is visible nevertheless.
    world.log.warning("no permission to find BPF programs",
                      {{"reason", detached.error().text}, {"id", detached.error().id_text()}});
    return {};
  }
  for (const std::string& program : TRY(std::move(detached), "")) {
    world.log.warning("a program that a pod has attached to its device is detached",
                      {{"device", link.name}, {"program", program}});
  }
  return {};
}

// The reason why the interface is not clear, or empty.
Result<std::string> clear(const Link& link, Kernel* pod, World& world) {
  // An unreadable namespace of somebody else must not fail this DEL: it only costs a rebind.
  auto removed = remove_uppers(link, pod, world);
  if (!removed) removed = remove_uppers(link, pod, world);
  if (!removed) return "what stands on " + link.name + " cannot be found: " + removed.error().text;
  TRY(detach_programs(link, world), "");
  if (link.xdp_modes == 0) return remainder(link, world);
  const auto now = TRY(world.host.find_link(link.index), "");
  if (now && now->xdp_modes != 0) return std::string("an XDP program stays attached to ") + now->name;
  return now ? remainder(*now, world) : std::string();
}

}  // namespace

Result<std::vector<std::string>> clear_interface(const Record& record, Kernel* pod, World& world) {
  const auto link = TRY(find_link_in_host(record, world), "");
  if (!link) return std::vector<std::string>();
  std::string why = TRY(clear(*link, pod, world), "");
  if (why.empty()) return std::vector<std::string>();
  if (!TRY(can_bind_again(record, world), "")) return std::vector{std::move(why)};
  TRY(bind_again(record, why, world), "");
  const auto fresh = TRY(find_link_in_host(record, world), "");
  why = fresh ? TRY(clear(*fresh, nullptr, world), "") : std::string();
  return why.empty() ? std::vector<std::string>() : std::vector{std::move(why)};
}

}  // namespace vfrail
