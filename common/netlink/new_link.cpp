// The part of NetlinkKernel that creates links.
#include "common/netlink/messages.h"
#include "common/netlink/netlink_kernel.h"

#include <cstring>
#include <net/if.h>
#include <vector>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

namespace vfrail {

namespace {

std::vector<uint8_t> bytes_of_u16(uint16_t value) {
  std::vector<uint8_t> out(sizeof value);
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

void put_kind(NlMessage& message, const NewLink& wanted) {
  message.nest(IFLA_LINKINFO, [&] {
    message.put_text(IFLA_INFO_KIND, wanted.kind);
    message.nest(IFLA_INFO_DATA, [&] {
      if (wanted.kind == "macvlan") message.put_u32(IFLA_MACVLAN_MODE, wanted.mode);
      if (wanted.kind == "ipvlan")
        message.put_bytes(IFLA_IPVLAN_MODE, bytes_of_u16(static_cast<uint16_t>(wanted.mode)));
      if (wanted.pkey != 0) message.put_bytes(IFLA_IPOIB_PKEY, bytes_of_u16(wanted.pkey));
    });
  });
}

}  // namespace

// The kernel finds the lower interface in the namespace of the socket, and creates the new one in the other
// (rtnl_newlink_create()), so that the name has to be free there alone.
Result<> NetlinkKernel::add_link(const NewLink& wanted) {
  NlMessage message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  if (wanted.up) header.ifi_flags = header.ifi_change = IFF_UP;
  message.put_header(header);
  message.put_text(IFLA_IFNAME, wanted.name);
  message.put_u32(IFLA_LINK, static_cast<uint32_t>(wanted.lower));
  if (wanted.netns_fd >= 0) message.put_u32(IFLA_NET_NS_FD, static_cast<uint32_t>(wanted.netns_fd));
  if (wanted.mac) message.put_bytes(IFLA_ADDRESS, wanted.mac->bytes);
  if (wanted.mtu) message.put_u32(IFLA_MTU, *wanted.mtu);
  put_kind(message, wanted);
  TRY(route_.request(message),
      "create " + wanted.kind + " " + wanted.name + " on " + link_text(wanted.lower));
  return {};
}

}  // namespace vfrail
