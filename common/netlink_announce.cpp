// The raw packet socket of NetlinkKernel.
#include "common/gratuitous_arp.h"
#include "common/netlink_kernel.h"

#include <arpa/inet.h>
#include <cerrno>
#include <sys/socket.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>

namespace vfrail {

namespace {

Result<> send_frame(int socket, int link, const std::vector<uint8_t>& frame) {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = link;
  to.sll_halen = ETH_ALEN;
  to.sll_protocol = htons(ETH_P_ARP);
  const ssize_t sent = ::sendto(socket, frame.data(), frame.size(), MSG_DONTWAIT,
                                reinterpret_cast<const sockaddr*>(&to), sizeof to);
  if (sent < 0) return Error::from_errno(errno, "send");
  return {};
}

}  // namespace

Result<> NetlinkKernel::announce(const Link& link, const std::vector<IpAddress>& addresses) {
  const auto open = [&]() -> Result<UniqueFd> {
    const auto scope = TRY(NetnsScope::enter(netns_, home_), "");
    // Protocol 0: it receives nothing.
    UniqueFd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!fd.valid()) return Error::from_errno(errno, "open packet socket");
    return fd;
  };
  const UniqueFd socket = TRY(open(), "");
  for (const IpAddress& address : addresses) {
    TRY(send_frame(socket.get(), link.index, gratuitous_arp(link.mac, address)), address.text());
  }
  return {};
}

}  // namespace vfrail
