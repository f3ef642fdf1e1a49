#include "plugin/observe/events/kernel_message.h"

#include "common/ids.h"
#include "common/netlink/raw_attributes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

namespace vfrail::plugin {

namespace {

using attributes::Bytes;

// Subsystems of which every device belongs to a function, or is one. A driver or module as such is not one:
// when it is bound to a device, that device's "bind" is the event.
constexpr std::array<std::string_view, 11> kSubsystems{
    "pci",  "auxiliary", "infiniband", "infiniband_verbs", "infiniband_mad", "vdpa",
    "vfio", "vfio-dev",  "uio",        "virtio",           "vhost-vdpa"};
// /dev files that the node has or has not (NodeFacts, Inventory).
constexpr std::array<std::string_view, 3> kNodes{"infiniband/rdma_cm", "vhost-net", "net/tun"};

// mlx5_sf_dev_add() and others: "mlx5_core.sf.4", beside "mlx5_core.eth.4" and the like, which are parts of a
// function.
bool is_sub_function(std::string_view name) { return name.find(".sf.") != std::string_view::npos; }

// By its bus, as devlink and rtnetlink name a device; no value: another bus.
std::optional<Changed> on_bus(const std::string& bus, const std::string& device) {
  const bool named =
      (bus == "pci" && PciAddress::parse(device)) || (bus == "auxiliary" && is_sub_function(device));
  return named ? std::optional(Changed{.devices = {device}}) : std::nullopt;
}

// The innermost function of a path in sysfs, and the sub-function in it. A function whose part it is is read
// again, too: what an auxiliary device is, its name alone does not say.
Changed on_path(std::string_view path) {
  Changed out;
  for (size_t at = path.size(); at != 0 && out.devices.empty();) {
    const size_t slash = path.rfind('/', at - 1);
    if (slash == std::string_view::npos) break;
    const std::string_view name = path.substr(slash + 1, at - slash - 1);
    if (const auto address = PciAddress::parse(name)) out.devices.insert(address->text());
    at = slash;
    if (out.devices.empty()) continue;
    const size_t begin = slash + 1 + name.size() + 1;
    const std::string_view below = begin < path.size() ? path.substr(begin) : std::string_view();
    const std::string_view part = below.substr(0, below.find('/'));
    if (part.find('.') != std::string_view::npos) out.devices.insert(std::string(part));
  }
  return out.devices.empty() ? Changed::all() : out;
}

Changed about(std::string_view subsystem, std::string_view path, std::string_view name) {
  if (subsystem == "misc") return {};  // a node of the machine, which every rescan reads
  constexpr std::string_view kGroups = "/devices/virtual/vfio/";
  constexpr std::string_view kWithoutIommu = "noiommu-";
  if (!path.starts_with(kGroups)) return on_path(path);
  if (name.starts_with(kWithoutIommu)) name.remove_prefix(kWithoutIommu.size());
  return {.iommu_groups = {std::string(name)}};
}

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// "add@/devices/..." and then KEY=VALUE, each terminated by a zero (kobject_uevent_env() in the kernel).
std::optional<Event> read_uevent(Bytes datagram) {
  std::string_view rest(reinterpret_cast<const char*>(datagram.data()), datagram.size());
  std::string_view action;
  std::string_view path;
  std::string_view subsystem;
  std::string_view node;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto take = [&](std::string_view key, std::string_view& value) {
      if (entry.starts_with(key)) value = entry.substr(key.size());
    };
    take("ACTION=", action);
    take("DEVPATH=", path);
    take("SUBSYSTEM=", subsystem);
    take("DEVNAME=", node);
  }
  // A virtual netdev belongs to no function. (Those of other namespaces are not sent at all.)
  const bool matters = holds(kSubsystems, subsystem) ||
                       (subsystem == "net" && !path.starts_with("/devices/virtual/")) ||
                       (subsystem == "misc" && holds(kNodes, node));
  if (!matters) return std::nullopt;
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return Event{std::string(subsystem) + " " + std::string(action) + " " + std::string(name),
               about(subsystem, path, name)};
}

// Netdevs of functions have no kind; interfaces on top of them have one, and so have the veths of pods. When
// a bond or bridge enslaves a function, the function's own message shows it. IPoIB's are the exception
// (ipoib_get_link_ops()). The device below is named from Linux 5.14 on, and an interface of one on another
// bus (virtio) is known by its own name.
std::optional<Event> read_link(const nlmsghdr& message, Bytes payload) {
  const auto link = attributes::header_at<ifinfomsg>(payload, 0);
  if (!link || link->ifi_family != AF_UNSPEC || link->ifi_type == ARPHRD_LOOPBACK) return std::nullopt;
  const Bytes all = payload.subspan(std::min(size_t{NLMSG_ALIGN(sizeof *link)}, payload.size()));
  const std::string kind =
      attributes::text(attributes::find(attributes::find(all, IFLA_LINKINFO), IFLA_INFO_KIND));
  if (!kind.empty() && kind != "ipoib") return std::nullopt;
  const std::string name = attributes::text(attributes::find(all, IFLA_IFNAME));
  const auto device = on_bus(attributes::text(attributes::find(all, IFLA_PARENT_DEV_BUS_NAME)),
                             attributes::text(attributes::find(all, IFLA_PARENT_DEV_NAME)));
  return Event{(message.nlmsg_type == RTM_DELLINK ? "link gone " : "link ") + name,
               device ? *device : Changed{.interfaces = {name}}};
}

// A function with a default route is not advertised; routes to pods change all the time.
std::optional<Event> read_route(Bytes payload) {
  const auto route = attributes::header_at<rtmsg>(payload, 0);
  const bool matters = route && route->rtm_dst_len == 0 && route->rtm_type == RTN_UNICAST &&
                       (route->rtm_flags & RTM_F_CLONED) == 0;
  return matters ? std::optional(Event{"default route", Changed::all()}) : std::nullopt;
}

// Flash progress, traps and regions change neither which functions there are, nor their health.
std::optional<Event> read_devlink(Bytes payload) {
  const auto generic = attributes::header_at<genlmsghdr>(payload, 0);
  if (!generic) return std::nullopt;
  switch (generic->cmd) {
    case DEVLINK_CMD_NEW:
    case DEVLINK_CMD_DEL:
    case DEVLINK_CMD_PORT_NEW:
    case DEVLINK_CMD_PORT_DEL:
    case DEVLINK_CMD_PARAM_NEW:
    case DEVLINK_CMD_PARAM_DEL:
    case DEVLINK_CMD_HEALTH_REPORTER_RECOVER:  // a reporter's state changed (devlink_recover_notify())
      break;
    default:
      return std::nullopt;
  }
  const Bytes all = payload.subspan(std::min(size_t{GENL_HDRLEN}, payload.size()));
  const std::string device = attributes::text(attributes::find(all, DEVLINK_ATTR_DEV_NAME));
  const auto named = on_bus(attributes::text(attributes::find(all, DEVLINK_ATTR_BUS_NAME)), device);
  return Event{"devlink " + std::to_string(generic->cmd) + " " + device, named ? *named : Changed::all()};
}

// Registered, gone, renamed, a netdev attached: the group has nothing else.
Event read_rdma(Bytes payload) {
  const std::string device = attributes::text(attributes::find(payload, RDMA_NLDEV_ATTR_DEV_NAME));
  return {"rdma notification", device.empty() ? Changed::all() : Changed{.rdma_devices = {device}}};
}

std::optional<Event> read_one(KernelSource kind, const nlmsghdr& header, Bytes payload) {
  switch (kind) {
    case KernelSource::route:
      if (header.nlmsg_type == RTM_NEWLINK || header.nlmsg_type == RTM_DELLINK)
        return read_link(header, payload);
      if (header.nlmsg_type == RTM_NEWROUTE || header.nlmsg_type == RTM_DELROUTE) return read_route(payload);
      return std::nullopt;
    case KernelSource::rdma:
      return read_rdma(payload);
    case KernelSource::devlink:
      return read_devlink(payload);
    case KernelSource::uevent:
      break;
  }
  return std::nullopt;
}

}  // namespace

const char* name_of(KernelSource kind) {
  switch (kind) {
    case KernelSource::uevent:
      return "uevents";
    case KernelSource::route:
      return "links and routes";
    case KernelSource::rdma:
      return "RDMA devices";
    case KernelSource::devlink:
      return "devlink";
  }
  return "";
}

std::optional<Event> read_kernel_message(KernelSource kind, std::span<const std::byte> datagram) {
  if (kind == KernelSource::uevent) return read_uevent(datagram);
  std::optional<Event> out;
  while (const auto header = attributes::header_at<nlmsghdr>(datagram, 0)) {
    if (header->nlmsg_len < sizeof *header || header->nlmsg_len > datagram.size()) break;
    add_event(read_one(kind, *header, datagram.subspan(sizeof *header, header->nlmsg_len - sizeof *header)),
              out);
    datagram = datagram.subspan(std::min(size_t{NLMSG_ALIGN(header->nlmsg_len)}, datagram.size()));
  }
  return out;
}

}  // namespace vfrail::plugin
