#include "cni/node/upper_search.h"

#include "common/kernel/netns.h"
#include "common/netlink/raw_attributes.h"
#include "common/unique_fd.h"

#include <algorithm>
#include <optional>
#include <sys/socket.h>
#include <vector>

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace vfrail::cni {

namespace {

// A dump comes in pieces of at most 32 KiB (netlink_dump() in net/netlink/af_netlink.c).
constexpr size_t kReceiveBytes = size_t{64} * 1024;

enum class Piece : unsigned char { more, last, doubtful };

// A message of a dump of all links.
Piece evaluate(const nlmsghdr& header, NlBytes message, int lower) {
  if ((header.nlmsg_flags & NLM_F_DUMP_INTR) != 0) return Piece::doubtful;
  if (header.nlmsg_type == RTM_NEWLINK) return can_stand_on(message, lower) ? Piece::doubtful : Piece::more;
  const auto code = attributes::header_at<int>(message, NLMSG_HDRLEN);
  return header.nlmsg_type == NLMSG_DONE && code == 0 ? Piece::last : Piece::doubtful;
}

Piece evaluate_all(NlBytes received, int lower) {
  while (const auto header = attributes::header_at<nlmsghdr>(received, 0)) {
    if (header->nlmsg_len < sizeof *header || header->nlmsg_len > received.size()) return Piece::doubtful;
    const Piece piece = evaluate(*header, received.first(header->nlmsg_len), lower);
    if (piece != Piece::more) return piece;
    received = received.subspan(std::min<size_t>(NLMSG_ALIGN(header->nlmsg_len), received.size()));
  }
  return received.empty() ? Piece::more : Piece::doubtful;
}

// Of the namespace that the thread is in.
bool has_no_upper(int lower, std::vector<std::byte>& buffer) {
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  struct {
    nlmsghdr header{sizeof(nlmsghdr) + sizeof(ifinfomsg) + sizeof(nlattr) + sizeof(uint32_t), RTM_GETLINK,
                    NLM_F_REQUEST | NLM_F_DUMP, 1, 0};
    ifinfomsg links{};
    nlattr attribute{sizeof(nlattr) + sizeof(uint32_t), IFLA_EXT_MASK};
    uint32_t mask = RTEXT_FILTER_SKIP_STATS;
  } request;
  if (!socket.valid() || ::send(socket.get(), &request, sizeof request, 0) != sizeof request) return false;
  for (;;) {
    // The kernel has the next piece ready when it has sent one: it never makes this wait.
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (got <= 0 || static_cast<size_t>(got) > buffer.size()) return false;
    const Piece piece = evaluate_all(NlBytes(buffer).first(static_cast<size_t>(got)), lower);
    if (piece != Piece::more) return piece == Piece::last;
  }
}

}  // namespace

bool can_stand_on(NlBytes message, int lower) {
  if (message.size() < NLMSG_SPACE(sizeof(ifinfomsg))) return true;
  bool on_lower = false;
  bool elsewhere = false;
  attributes::each(message.subspan(NLMSG_SPACE(sizeof(ifinfomsg))), [&](uint16_t type, NlBytes payload) {
    // What is not as the kernel writes it is in doubt.
    if (type == IFLA_LINK) on_lower |= attributes::header_at<int>(payload, 0).value_or(lower) == lower;
    if (type == IFLA_LINK_NETNSID) elsewhere = true;
  });
  return on_lower && elsewhere;
}

void erase_without_uppers(std::map<std::string, std::string>& namespaces, int lower) {
  const auto origin = Netns::current();
  if (!origin) return;
  std::vector<std::byte> buffer(kReceiveBytes);
  std::optional<NetnsScope> scope;
  std::erase_if(namespaces, [&](const auto& one) {
    const auto target = Netns::open(one.second);
    if (!target || !*target) return false;
    if (!scope) {
      auto entered = NetnsScope::enter(**target, *origin);
      if (!entered) return false;
      scope.emplace(std::move(*entered));
    } else if (!scope->change(**target, *origin)) {
      return false;
    }
    return has_no_upper(lower, buffer);
  });
}

}  // namespace vfrail::cni
