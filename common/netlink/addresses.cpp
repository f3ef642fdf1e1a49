// The addresses of NetlinkKernel.
#include "common/netlink/messages.h"
#include "common/netlink/netlink_kernel.h"
#include "common/netlink/parse.h"

#include <algorithm>
#include <string>
#include <sys/socket.h>

#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace vfrail {

Result<> NetlinkKernel::add_address(int link, const IpAddress& address, const AddressSettings& settings) {
  NlMessage message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
  ifaddrmsg header{};
  header.ifa_family = address.v6() ? AF_INET6 : AF_INET;
  header.ifa_prefixlen = address.prefix;
  header.ifa_scope = settings.scope;
  header.ifa_index = static_cast<uint32_t>(link);
  message.put_header(header);
  message.put_bytes(IFA_LOCAL, address.bytes);
  message.put_bytes(IFA_ADDRESS, settings.peer ? settings.peer->bytes : address.bytes);
  if (settings.broadcast) message.put_bytes(IFA_BROADCAST, settings.broadcast->bytes);
  if (!settings.label.empty()) message.put_text(IFA_LABEL, settings.label);
  if (settings.priority) message.put_u32(IFA_RT_PRIORITY, *settings.priority);
  const uint32_t flags =
      (settings.no_prefix_route ? IFA_F_NOPREFIXROUTE : 0U) | (settings.no_dad ? IFA_F_NODAD : 0U);
  if (flags != 0) message.put_u32(IFA_FLAGS, flags);
  TRY(route_.request(message), "add address " + address.cidr() + " to " + link_text(link));
  return {};
}

Result<std::vector<LinkAddress>> NetlinkKernel::addresses(int link) {
  std::vector<LinkAddress> out;
  NlMessage message(RTM_GETADDR, NLM_F_DUMP);
  ifaddrmsg header{};
  header.ifa_family = AF_UNSPEC;
  header.ifa_index = static_cast<uint32_t>(link);
  message.put_header(header);
  TRY(route_.dump(
          message,
          [&](NlBytes reply) -> Result<> {
            int of = 0;
            auto address = TRY(parse_address(reply, of));
            if (of == link) out.push_back(std::move(address));
            return {};
          },
          [&] { out.clear(); }),
      "list addresses of " + link_text(link));
  return out;
}

Result<std::vector<LinkAddress>> NetlinkKernel::wait_for_dad(int link, Deadline deadline) {
  NlSocket events = TRY(open_socket(NETLINK_ROUTE));
  TRY(events.join(RTNLGRP_IPV6_IFADDR));
  for (;;) {
    auto now = TRY(addresses(link));
    const bool tentative = std::any_of(now.begin(), now.end(), [](const LinkAddress& address) {
      return address.dad == DadState::tentative;
    });
    if (!tentative) return now;
    if (!TRY(events.wait(deadline, [](NlBytes) { return Result<>(); }))) return addresses(link);
  }
}

Result<> NetlinkKernel::announce(int link, const IpAddress& address) {
  NlMessage message(RTM_NEWNEIGH, NLM_F_CREATE);
  ndmsg header{};
  header.ndm_family = AF_INET;
  header.ndm_ifindex = link;
  header.ndm_flags = NTF_USE;
  message.put_header(header);
  message.put_bytes(NDA_DST, address.bytes);
  TRY(route_.request(message), "announce " + address.text() + " on " + link_text(link));
  return {};
}

}  // namespace vfrail
