#include "plugin/observe/events/kernel_events.h"

#include "common/errors/error_id.h"
#include "common/netlink/netlink.h"
#include "common/netlink/raw_attributes.h"
#include "common/result.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace vfrail::plugin {

namespace {

constexpr std::array kKernelSources{KernelSource::uevent, KernelSource::route, KernelSource::rdma,
                                    KernelSource::devlink};
constexpr int kUeventsOfKernel = 1;  // 2 is udev's
constexpr int kRdmaNotify =
    4;  // RDMA_NL_GROUP_NOTIFY of Linux 6.13; older ones have the group, but send nothing
// As many as arrive when a card with a hundred VFs appears. A socket with more is read on in the next round,
// so that the owner thread gets back to kubelet.
constexpr int kMostMessages = 2000;
// A notification has one page in most cases, and never the VFs of a link (they are only in answers to
// queries).
constexpr size_t kMessageBytes = 16384;

// The number of a multicast group of a generic netlink family, which the kernel assigns again at each boot.
Result<int> find_group(const char* family, const char* group) {
  NlSocket socket = TRY(NlSocket::open(NETLINK_GENERIC));
  NlMessage message(GENL_ID_CTRL, 0);
  message.put_header(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0});
  message.put_text(CTRL_ATTR_FAMILY_NAME, family);
  int found = 0;
  TRY(socket.query(message, [&](attributes::Bytes answer) {
    const auto all = answer.subspan(std::min<size_t>(NLMSG_HDRLEN + GENL_HDRLEN, answer.size()));
    attributes::each(attributes::find(all, CTRL_ATTR_MCAST_GROUPS), [&](uint16_t, auto one) {
      if (attributes::text(attributes::find(one, CTRL_ATTR_MCAST_GRP_NAME)) != group) return;
      const auto id = attributes::find(one, CTRL_ATTR_MCAST_GRP_ID);
      if (const auto number = attributes::header_at<uint32_t>(id, 0)) found = static_cast<int>(*number);
    });
    return Result<>();
  }));
  if (found == 0)
    return Error{
        Errc::unsupported, 0,
        std::string("this kernel has no multicast group ") + group + " of the netlink family " + family};
  return found;
}

struct Source {
  int protocol = 0;
  std::vector<int> groups;
};

Result<Source> source_of(KernelSource kind) {
  switch (kind) {
    case KernelSource::uevent:
      return Source{NETLINK_KOBJECT_UEVENT, {kUeventsOfKernel}};
    case KernelSource::route:
      return Source{NETLINK_ROUTE, {RTNLGRP_LINK, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE}};
    case KernelSource::rdma:
      return Source{NETLINK_RDMA, {kRdmaNotify}};
    case KernelSource::devlink:
      break;
  }
  return Source{
      NETLINK_GENERIC,
      {TRY(find_group(DEVLINK_GENL_NAME, DEVLINK_GENL_MCGRP_CONFIG_NAME), "ask for the netlink family")}};
}

bool set(const UniqueFd& fd, int option, int value) {
  return ::setsockopt(fd.get(), SOL_NETLINK, option, &value, sizeof value) == 0;
}

Result<UniqueFd> subscribe(const Source& source) {
  UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, source.protocol));
  if (!fd.valid()) return Error::from_errno(errno, "open the socket");
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Error::from_errno(errno, "bind the socket");
  for (const int group : source.groups) {
    if (!set(fd, NETLINK_ADD_MEMBERSHIP, group)) return Error::from_errno(errno, "subscribe");
  }
  return fd;
}

}  // namespace

void KernelEvents::open_missing() {
  for (const KernelSource kind : kKernelSources) {
    const bool there =
        std::any_of(subscriptions_.begin(), subscriptions_.end(),
                    [&](const Subscription& subscription) { return subscription.kind == kind; });
    if (!there) open(kind);
  }
  for (const auto& source : others_) source->open_missing();
}

void KernelEvents::open(KernelSource kind) {
  const auto source = source_of(kind);
  auto fd = source ? subscribe(*source) : Result<UniqueFd>(source.error());
  if (!fd) {
    if (!reported_.insert(kind).second) return;
    log_.info("no notifications; relying on the periodic rescan",
              {{"of", name_of(kind)}, {"reason", fd.error().text}, {"id", id_text(ErrorId::not_supported)}});
    return;
  }
  // In a pod the host's namespace is another one. The kernel delivers its events if this namespace has an id
  // for it, which a veth to it brings about, and for CAP_NET_BROADCAST (do_one_broadcast() in
  // net/netlink/af_netlink.c). Uevents do not need it: those of PCI and RDMA go to all namespaces, and would
  // arrive once for each.
  if (kind == KernelSource::route) covers_other_namespaces_ = set(*fd, NETLINK_LISTEN_ALL_NSID, 1);
  if (kind == KernelSource::rdma || kind == KernelSource::devlink) set(*fd, NETLINK_LISTEN_ALL_NSID, 1);
  subscriptions_.push_back({kind, *std::move(fd)});
}

bool KernelEvents::covers_all(bool own_is_host) const {
  const auto covers = [&](KernelSource kind) {
    return std::any_of(subscriptions_.begin(), subscriptions_.end(),
                       [&](const Subscription& subscription) { return subscription.kind == kind; });
  };
  // Without the modules of RDMA and devlink these two have nothing to report. Of other namespaces only those
  // are received that this one has an id for (netlink(7), NETLINK_LISTEN_ALL_NSID), and whether the host's is
  // one cannot be known: that a link of the host and the pod's eth0 name each other's index proves nothing,
  // because each namespace counts from 1 and the eth0 of most pods has the same index. Nor is that all: the
  // uevent of an RDMA device that is renamed stays in its namespace (ib_class in drivers/infiniband/core).
  return own_is_host && covers(KernelSource::uevent) && covers(KernelSource::route);
}

void KernelEvents::follow_ports(const std::set<std::string>& rdma_devices) {
  if (verbs_) verbs_->follow(rdma_devices);
}

std::vector<int> KernelEvents::fds() const {
  std::vector<int> out = verbs_ ? verbs_->fds() : std::vector<int>();
  for (const Subscription& subscription : subscriptions_) out.push_back(subscription.fd.get());
  for (const auto& source : others_) {
    const std::vector<int> more = source->fds();
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

std::optional<Event> KernelEvents::read() {
  std::optional<Event> out;
  for (const auto& source : others_) add_event(source->read(), out);
  if (verbs_) add_event(verbs_->read(), out);
  for (const Subscription& subscription : subscriptions_) add_event(read(subscription), out);
  return out;
}

std::optional<Event> KernelEvents::read(const Subscription& subscription) const {
  std::optional<Event> out;
  std::array<std::byte, kMessageBytes> buffer;
  for (int count = 0; count < kMostMessages; ++count) {
    const ssize_t got = ::recv(subscription.fd.get(), buffer.data(), buffer.size(), MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == ENOBUFS) {
      add_event(Event{std::string("messages lost: ") + name_of(subscription.kind), Changed::all()}, out);
      continue;
    }
    if (got <= 0) break;
    const auto size = static_cast<size_t>(got);
    if (size > buffer.size())
      add_event(Event{std::string("a long message of ") + name_of(subscription.kind), Changed::all()}, out);
    else
      add_event(read_kernel_message(subscription.kind, std::span(buffer).first(size)), out);
  }
  return out;
}

}  // namespace vfrail::plugin
