#include "common/netlink/netlink_kernel.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/netlink/messages.h"
#include "common/netlink/parse.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <net/if.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

namespace vfrail {

namespace {

constexpr size_t kMaxSysctlBytes = 4096;

constexpr uint16_t rdma_type(uint16_t command) {
  return static_cast<uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

NlMessage get_link_message(int index) {
  NlMessage message = link_message(RTM_GETLINK, 0, index);
  // No VF data (each VF can cost a firmware query under RTNL), and no counters.
  message.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  return message;
}

template <class T>
void put_struct(NlMessage& message, uint16_t attribute, const T& value) {
  message.put_bytes(attribute, std::span(reinterpret_cast<const uint8_t*>(&value), sizeof value));
}

void put_vf_mac(NlMessage& message, uint32_t vf, const MacAddress& mac) {
  ifla_vf_mac data{};
  data.vf = vf;
  std::copy_n(mac.bytes.begin(), std::min(mac.bytes.size(), sizeof data.mac), data.mac);
  put_struct(message, IFLA_VF_MAC, data);
}

void put_vf_vlan(NlMessage& message, uint32_t vf, const VfVlan& vlan) {
  const ifla_vf_vlan_info data{vf, vlan.id, vlan.priority, htons(vlan.protocol)};
  message.nest(IFLA_VF_VLAN_LIST, [&] { put_struct(message, IFLA_VF_VLAN_INFO, data); });
}

// One IFLA_VF_INFO of the list.
void put_vf_info(NlMessage& message, uint32_t vf, const VfSettings& change) {
  message.nest(IFLA_VF_INFO, [&] {
    if (change.mac) put_vf_mac(message, vf, *change.mac);
    if (change.vlan) put_vf_vlan(message, vf, *change.vlan);
    if (change.rate) put_struct(message, IFLA_VF_RATE, ifla_vf_rate{vf, change.rate->min, change.rate->max});
    if (change.spoof_check)
      put_struct(message, IFLA_VF_SPOOFCHK, ifla_vf_spoofchk{vf, *change.spoof_check ? 1U : 0U});
    if (change.link_state) {
      put_struct(message, IFLA_VF_LINK_STATE,
                 ifla_vf_link_state{vf, static_cast<uint32_t>(*change.link_state)});
    }
    if (change.trust) put_struct(message, IFLA_VF_TRUST, ifla_vf_trust{vf, *change.trust ? 1U : 0U});
    if (change.node_guid) put_struct(message, IFLA_VF_IB_NODE_GUID, ifla_vf_guid{vf, *change.node_guid});
    if (change.port_guid) put_struct(message, IFLA_VF_IB_PORT_GUID, ifla_vf_guid{vf, *change.port_guid});
  });
}

// The root of a mount of sysfs that no path leads to, for the namespace that the thread is in; unmounted with
// the descriptor. No value without fsopen(2) (before 5.2).
Result<std::optional<UniqueFd>> mount_sysfs() {
  const UniqueFd context(::fsopen("sysfs", FSOPEN_CLOEXEC));
  if (!context.valid() && errno == ENOSYS) return std::optional<UniqueFd>();
  if (!context.valid()) return Error::from_errno(errno, "open a sysfs of the namespace");
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return Error::from_errno(errno, "make a sysfs of the namespace");
  constexpr unsigned kFlags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  UniqueFd root(::fsmount(context.get(), FSMOUNT_CLOEXEC, kFlags));
  if (!root.valid()) return Error::from_errno(errno, "mount a sysfs of the namespace");
  return std::optional(std::move(root));
}

std::string sysctl_path(std::string_view name) { return "/proc/sys/net/" + std::string(name); }

}  // namespace

Result<std::unique_ptr<Kernel>> NetlinkKernel::open_current() { return open(TRY(Netns::current())); }

Result<std::unique_ptr<Kernel>> NetlinkKernel::open(Netns target) {
  Netns origin = TRY(Netns::current());
  auto open_route = [&]() -> Result<NlSocket> {
    const auto scope = TRY(NetnsScope::enter(target, origin));
    return NlSocket::open(NETLINK_ROUTE);
  };
  NlSocket route = TRY(open_route());
  return std::unique_ptr<Kernel>(new NetlinkKernel(std::move(target), std::move(origin), std::move(route)));
}

Result<NlSocket> NetlinkKernel::open_socket(int protocol) const {
  const auto scope = TRY(NetnsScope::enter(netns_, origin_));
  return NlSocket::open(protocol);
}

Result<NlSocket*> NetlinkKernel::rdma() {
  if (!rdma_) {
    auto socket = open_socket(NETLINK_RDMA);
    if (!socket && socket.error().code == Errc::unsupported) return static_cast<NlSocket*>(nullptr);
    rdma_ = TRY(std::move(socket), "RDMA");
  }
  return &*rdma_;
}

Result<NlSocket*> NetlinkKernel::needed_rdma() {
  NlSocket* socket = TRY(rdma());
  if (socket == nullptr)
    return Error{Errc::unsupported, 0, "this kernel has no RDMA subsystem loaded", ErrorId::rdma_not_loaded};
  return socket;
}

Result<std::optional<Link>> NetlinkKernel::find_link(const NlMessage& message, const std::string& what) {
  std::optional<Link> out;
  auto result = route_.query(message, [&](NlBytes reply) -> Result<> {
    out = TRY(parse_link(reply));
    return {};
  });
  if (!result && result.error().sys == ENODEV) return std::optional<Link>();
  TRY(std::move(result), "read " + what);
  if (out) TRY(name_parent(*out), what);
  return out;
}

Result<std::optional<Link>> NetlinkKernel::find_link(std::string_view name) {
  NlMessage message = get_link_message(0);
  // A longer name can only be an alternative one (ALTIFNAMSIZ), which __dev_get_by_name() knows as well.
  message.put_text(name.size() >= IFNAMSIZ ? IFLA_ALT_IFNAME : IFLA_IFNAME, name);
  return find_link(message, "link " + std::string(name));
}

Result<std::optional<Link>> NetlinkKernel::find_link(int index) {
  return find_link(get_link_message(index), link_text(index));
}

Result<std::vector<Link>> NetlinkKernel::links() {
  NlMessage message = link_message(RTM_GETLINK, NLM_F_DUMP, 0);
  message.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  std::vector<Link> out = TRY(list(route_, message, parse_link), "list links");
  for (Link& link : out) TRY(name_parent(link), link_text(link.index));
  return out;
}

Result<> NetlinkKernel::change_link(int index, const LinkChange& change) {
  NlMessage message(RTM_SETLINK, 0);
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  header.ifi_index = index;
  const auto put_flag = [&header](const std::optional<bool>& wanted, unsigned flag) {
    if (wanted) header.ifi_change |= flag;
    if (wanted == true) header.ifi_flags |= flag;
  };
  put_flag(change.up, IFF_UP);
  put_flag(change.promisc, IFF_PROMISC);
  put_flag(change.allmulti, IFF_ALLMULTI);
  if (change.options.flags) {
    header.ifi_change |= LinkOptions::kFlags;
    header.ifi_flags |= *change.options.flags & LinkOptions::kFlags;
  }
  message.put_header(header);
  if (change.netns_fd >= 0) message.put_u32(IFLA_NET_NS_FD, static_cast<uint32_t>(change.netns_fd));
  if (change.name) message.put_text(IFLA_IFNAME, *change.name);
  if (change.mac) message.put_bytes(IFLA_ADDRESS, change.mac->bytes);
  if (change.broadcast) message.put_bytes(IFLA_BROADCAST, change.broadcast->bytes);
  if (change.mtu) message.put_u32(IFLA_MTU, *change.mtu);
  if (change.tx_queue_len) message.put_u32(IFLA_TXQLEN, *change.tx_queue_len);
  if (change.alias) message.put_text(IFLA_IFALIAS, *change.alias);
  put_link_options(message, change.options);
  if (change.eui64) {
    message.nest(IFLA_AF_SPEC, [&] {
      message.nest(AF_INET6, [&] { message.put_u8(IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_EUI64); });
    });
  }
  TRY(route_.request(message), "change " + link_text(index));
  return {};
}

Result<int> NetlinkKernel::ioctls() {
  if (!ioctls_.valid()) {
    const auto scope = TRY(NetnsScope::enter(netns_, origin_));
    ioctls_ = UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!ioctls_.valid()) return Error::from_errno(errno, "open a socket for ioctl(2)");
  }
  return ioctls_.get();
}

// RTM_SETLINK knows a link to rename by its index alone.
Result<> NetlinkKernel::rename_link(const IfName& now, std::string_view wanted) {
  ifreq request{};
  now.text().copy(request.ifr_name, IFNAMSIZ - 1);
  wanted.copy(request.ifr_newname, IFNAMSIZ - 1);
  if (ioctl(TRY(ioctls()), SIOCSIFNAME, &request) == 0) return {};
  return Error::from_errno(errno, "rename " + now + " to " + std::string(wanted));
}

Result<> NetlinkKernel::change_altname(NlMessage message, std::string_view name) {
  message.nest(IFLA_PROP_LIST | NLA_F_NESTED, [&] { message.put_text(IFLA_ALT_IFNAME, name); });
  return route_.request(message);
}

Result<> NetlinkKernel::add_altname(int index, std::string_view name) {
  constexpr uint16_t kNew = NLM_F_CREATE | NLM_F_APPEND | NLM_F_EXCL;
  TRY(change_altname(link_message(RTM_NEWLINKPROP, kNew, index), name),
      "add alternative name " + std::string(name) + " to " + link_text(index));
  return {};
}

Result<> NetlinkKernel::remove_altname(int index, std::string_view name) {
  TRY(change_altname(link_message(RTM_DELLINKPROP, 0, index), name),
      "remove alternative name " + std::string(name) + " from " + link_text(index));
  return {};
}

Result<std::vector<VfReport>> NetlinkKernel::vfs(int pf_link) {
  NlMessage message = link_message(RTM_GETLINK, 0, pf_link);
  message.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
  std::vector<VfReport> out;
  TRY(route_.query(message,
                   [&](NlBytes reply) -> Result<> {
                     out = TRY(parse_vfs(reply));
                     return {};
                   }),
      "read the VFs of " + link_text(pf_link));
  return out;
}

Result<> NetlinkKernel::change_vf(int pf_link, uint32_t vf, const VfSettings& change) {
  NlMessage message = link_message(RTM_SETLINK, 0, pf_link);
  message.nest(IFLA_VFINFO_LIST, [&] {
    // do_setvfinfo() returns after a node GUID, so the port GUID has an entry of its own.
    VfSettings first = change;
    first.port_guid.reset();
    if (!first.empty()) put_vf_info(message, vf, first);
    if (change.port_guid) put_vf_info(message, vf, {.port_guid = change.port_guid});
  });
  TRY(route_.request(message), "change " + link_text(pf_link));
  return {};
}

Result<> NetlinkKernel::wait_for_link(Deadline deadline, const std::function<Result<bool>()>& ready) {
  // Subscribed before the first read, so that no change is missed between the two.
  NlSocket events = TRY(open_socket(NETLINK_ROUTE));
  TRY(events.join(RTNLGRP_LINK));
  for (;;) {
    if (TRY(ready())) return {};
    if (!TRY(events.wait(deadline, [](NlBytes) { return Result<>(); }))) {
      // Read once more: what is waited for may not be announced on this group (an RDMA device, say).
      if (TRY(ready())) return {};
      return Error{Errc::timeout, ETIMEDOUT, "wait for a change of a link: the deadline passed"};
    }
  }
}

Result<std::optional<std::string>> NetlinkKernel::read_sysctl(std::string_view name) {
  const auto scope = TRY(NetnsScope::enter(netns_, origin_));
  auto text = TRY(read_file(sysctl_path(name), kMaxSysctlBytes));
  while (text && !text->empty() && text->back() == '\n') text->pop_back();
  return text;
}

Result<> NetlinkKernel::write_sysctl(std::string_view name, std::string_view value) {
  const auto scope = TRY(NetnsScope::enter(netns_, origin_));
  return write_attribute(sysctl_path(name), value);
}

Result<std::optional<std::string>> NetlinkKernel::sysfs() {
  if (!sysfs_.valid()) {
    const auto scope = TRY(NetnsScope::enter(netns_, origin_));
    auto mounted = TRY(mount_sysfs());
    if (!mounted) return std::optional<std::string>();
    sysfs_ = std::move(*mounted);
  }
  return std::optional("/proc/self/fd/" + std::to_string(sysfs_.get()));
}

Result<std::optional<RdmaNetnsMode>> NetlinkKernel::rdma_netns_mode() {
  NlSocket* socket = TRY(rdma());
  if (socket == nullptr) return std::optional<RdmaNetnsMode>();
  std::optional<RdmaNetnsMode> out;
  auto result =
      socket->query(NlMessage(rdma_type(RDMA_NLDEV_CMD_SYS_GET), 0), [&](NlBytes reply) -> Result<> {
        out = TRY(parse_rdma_netns_mode(reply));
        return {};
      });
  // Kernels before 5.3 do not know the query; there every device is shared.
  if (!result && result.error().sys == EINVAL) return std::optional<RdmaNetnsMode>(RdmaNetnsMode::shared);
  TRY(std::move(result), "ask for the RDMA namespace mode");
  return out;
}

Result<std::optional<RdmaDevice>> NetlinkKernel::find_rdma_device(std::string_view name) {
  // The kernel finds a device by index only, so a name takes a dump (nldev_get_doit()).
  for (RdmaDevice& device : TRY(rdma_devices())) {
    if (device.name == name) return std::optional<RdmaDevice>(std::move(device));
  }
  return std::optional<RdmaDevice>();
}

Result<std::vector<RdmaDevice>> NetlinkKernel::rdma_devices() {
  NlSocket* socket = TRY(rdma());
  if (socket == nullptr) return std::vector<RdmaDevice>();
  return TRY(list(*socket, NlMessage(rdma_type(RDMA_NLDEV_CMD_GET), NLM_F_DUMP), parse_rdma_device),
             "list RDMA devices");
}

Result<> NetlinkKernel::move_rdma_device(uint32_t index, int netns_fd) {
  NlSocket* socket = TRY(needed_rdma());
  NlMessage message(rdma_type(RDMA_NLDEV_CMD_SET), 0);
  message.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
  message.put_u32(RDMA_NLDEV_NET_NS_FD, static_cast<uint32_t>(netns_fd));
  // rdma_dev_change_netns() finds the device in the namespace of the calling thread.
  const auto scope = TRY(NetnsScope::enter(netns_, origin_));
  TRY(socket->request(message), "move RDMA device " + std::to_string(index));
  return {};
}

Result<> NetlinkKernel::rename_rdma_device(uint32_t index, std::string_view name) {
  NlSocket* socket = TRY(needed_rdma());
  NlMessage message(rdma_type(RDMA_NLDEV_CMD_SET), 0);
  message.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
  message.put_text(RDMA_NLDEV_ATTR_DEV_NAME, name);
  TRY(socket->request(message), "rename RDMA device " + std::to_string(index) + " to " + std::string(name));
  return {};
}

}  // namespace vfrail
