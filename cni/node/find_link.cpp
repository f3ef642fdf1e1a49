#include "cni/node/find_link.h"

#include "cni/node/boot.h"
#include "cni/node/device.h"

#include <algorithm>

namespace vfrail::cni {

bool is_such(const LinkBefore& before, const Link& link) {
  // Neither kind nor device: hardware of which an older version, on a kernel before 5.14, did not know it.
  const bool any_device = before.kind.empty() && before.parent_device.empty();
  if (link.loopback() || link.kind != before.kind) return false;
  if (!any_device && link.parent_device != before.parent_device) return false;
  return before.lower == 0 || link.lower == 0 || link.lower == before.lower;
}

bool is_still_in_host(const LinkBefore& before, const Link& link) {
  const bool is_virtual = before.parent_device.empty();
  return is_virtual && link.name == before.name && link.index == before.index && is_such(before, link);
}

namespace {

// In the host, where a pod cannot rename it.
bool is_the_links(const Record& record, const Link& link) {
  const LinkBefore& before = *record.link;
  if (!before.parent_device.empty()) return link.parent_device == before.parent_device;
  if (!is_such(before, link)) return false;
  // With name and index alone, too, because the address can be the pod's choice: on kernels before 5.14,
  // which report no device below, hardware returns with it from an ended namespace, and every interface keeps
  // it if a move back was killed. An index is not used twice.
  const bool same_name = link.name == before.name || link.name == record.attachment.ifname;
  return link.mac == record.pod_mac || link.mac == before.mac || (same_name && link.index == before.index);
}

// Only its address says that a link without kind and device is the record's: on kernels before 5.14, and
// where the driver does not say it, the pod has others of that kind.
bool can_be_its(const Record& record, const Link& link) {
  const LinkBefore& before = *record.link;
  if (!is_such(before, link)) return false;
  if (!before.parent_device.empty() || !before.kind.empty()) return true;
  const bool permanent = !before.permanent_mac.bytes.empty() && link.permanent_mac == before.permanent_mac;
  return permanent || link.mac == record.pod_mac || link.mac == before.mac;
}

bool has_its_address(const Record& record, const std::optional<Link>& link) {
  return link && (link->mac == record.pod_mac || link->mac == record.link->mac);
}

// Not under its index: the pod has moved hardware away and back, nothing says that the move is done, or an
// older version wrote the record before the move and another interface of the pod had the index. `holder` is
// the interface that has it now.
Result<std::optional<Link>> find_by_more_than_index(const Record& record, const std::optional<Link>& holder,
                                                    Kernel& pod) {
  const LinkBefore& before = *record.link;
  const IfName& ifname = record.attachment.ifname;
  auto link = TRY(pod.find_link(ifname), "in the pod");
  if (!before.ends_with_its_namespace()) {
    if (link && link->name == ifname && can_be_its(record, *link)) return link;
    // Two candidates are the ports of one function. The address decides only then, because some drivers
    // change their own address with another one (igbvf_reset()).
    std::vector<Link> all = TRY(pod.links(), "find the device in the pod");
    std::erase_if(all, [&](const Link& one) { return !can_be_its(record, one); });
    if (all.size() > 1)
      std::erase_if(all, [&](const Link& one) { return one.permanent_mac != before.permanent_mac; });
    return all.size() == 1 ? std::optional<Link>(std::move(all.front())) : std::nullopt;
  }
  // A virtual interface keeps its index. Nothing has it, so the interface is gone and another one has its
  // name.
  const bool is_known = record.index_in_pod != 0;
  if (is_known && (!holder || record.index_in_pod != before.index)) return std::optional<Link>();
  if (has_its_address(record, link) && link->name == ifname && is_such(before, *link)) return link;
  // A move that failed half-way has not renamed it yet (finish_without_mac()).
  link = TRY(pod.find_link(before.name), "in the pod");
  const bool its_address = link && link->mac == before.mac;
  const bool is_holder = link && holder && link->index == holder->index;
  if (its_address && !is_holder && is_such(before, *link)) return link;
  if (is_known) return std::optional<Link>();
  // Moved, without a record of it, and renamed since.
  link = TRY(pod.find_link(before.index), "in the pod");
  return has_its_address(record, link) && is_such(before, *link) ? std::move(link) : std::nullopt;
}

// The record's netdev in the host; no value while it is in another namespace.
Result<std::optional<Link>> find_its_link(const Record& record, const World& world) {
  const LinkBefore& before = *record.link;
  // What this host has under its name is another, whatever else fits: indices begin anew in a namespace.
  if (ended_with_its_host(record, world)) return std::optional<Link>();
  if (record.device) {
    const Facts wanted = record.port ? Facts::dev_ports : Facts::netdevs;
    const auto device = TRY(read_device(world.sys, *record.device, wanted)).value_or(Device());
    for (const Netdev& netdev : device.netdevs) {
      if (netdev.dev_port != record.port) continue;  // another netdev of the same function
      auto link = TRY(world.host.find_link(netdev.name));
      if (link && is_the_links(record, *link)) return link;
    }
    return std::optional<Link>();
  }
  auto link = TRY(world.host.find_link(before.name));
  if (link && is_the_links(record, *link)) return link;
  link = TRY(world.host.find_link(record.attachment.ifname));
  if (link && is_the_links(record, *link)) return link;
  return std::optional<Link>();
}

}  // namespace

Result<std::optional<Link>> find_link_in_pod(const Record& record, Kernel& pod) {
  if (!record.link) return std::optional<Link>();
  std::optional<Link> link;
  // Found by index alone: it stays with the interface for as long as that exists.
  if (record.index_in_pod != 0) link = TRY(pod.find_link(record.index_in_pod), "in the pod");
  if (link && is_such(*record.link, *link)) return link;
  return find_by_more_than_index(record, link, pod);
}

Result<std::optional<Link>> find_link_in_host(const Record& record, const World& world) {
  return record.link ? find_its_link(record, world) : std::optional<Link>();
}

namespace {

// The ports of an adapter share the device below them. What an interface of IPoIB keeps of its address are
// the subnet and the port's GUID.
bool has_its_port(const MacAddress& mac, const Link& link) {
  const auto& old = mac.bytes;
  return link.ipoib() && std::equal(old.begin() + 4, old.end(), link.mac.bytes.begin() + 4);
}

// Nobody has started in the pod yet, so every interface of the device there is a port's.
Result<std::optional<Link>> find_ipoib_in_pod(const LinkBefore& before, Kernel& pod) {
  std::vector<Link> all = TRY(pod.links(), "find the IPoIB interface in the pod");
  std::erase_if(all, [&](const Link& one) {
    return !one.ipoib() || before.parent_device.empty() || one.parent_device != before.parent_device;
  });
  if (all.size() > 1) std::erase_if(all, [&](const Link& one) { return !has_its_port(before.mac, one); });
  return all.size() == 1 ? std::optional<Link>(std::move(all.front())) : std::nullopt;
}

}  // namespace

bool is_ipoib_child(const Link& link, int parent) {
  return link.kind == "ipoib" && (link.lower == parent || (link.lower == 0 && link.index == parent));
}

Result<std::vector<Link>> find_ipoib_children(const Link& lower, Kernel& there) {
  std::vector<Link> out;
  if (!lower.ipoib()) return out;
  out = TRY(there.links(), "find the partitions' interfaces on " + lower.name);
  std::erase_if(out, [&](const Link& one) {
    return !is_ipoib_child(one, lower.index) || !has_its_port(lower.mac, one);
  });
  return out;
}

Result<std::optional<NewIpoib>> find_new_ipoib(const Record& record, const LinkBefore& before, Kernel& pod,
                                               const World& world) {
  const auto device = TRY(read_device(world.sys, *record.device, Facts::dev_ports)).value_or(Device());
  for (const Netdev& netdev : device.netdevs) {
    if (netdev.dev_port != record.port) continue;
    // None under this name: udev is renaming it, and the change of its name is one to look again for.
    auto link = TRY(world.host.find_link(netdev.name));
    if (link && link->ipoib()) return std::optional<NewIpoib>({std::move(*link), false});
  }
  auto link = TRY(find_ipoib_in_pod(before, pod));
  return link ? std::optional<NewIpoib>({std::move(*link), true}) : std::nullopt;
}

}  // namespace vfrail::cni
