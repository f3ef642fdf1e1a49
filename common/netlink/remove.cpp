// The part of NetlinkKernel that removes links, and finds those to remove.
#include "common/netlink/attributes.h"
#include "common/netlink/messages.h"
#include "common/netlink/netlink_kernel.h"

#include <cerrno>
#include <random>

#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>

namespace vfrail {

namespace {

bool gone_already(const Result<>& result) { return !result && result.error().sys == ENODEV; }

}  // namespace

Result<> NetlinkKernel::remove_links(const std::vector<int>& indices) {
  const auto remove_one = [&](int index) -> Result<> {
    auto removed = route_.request(link_message(RTM_DELLINK, 0, index));
    if (gone_already(removed)) return {};
    TRY(std::move(removed), "remove link " + std::to_string(index));
    return {};
  };
  if (indices.size() > 1) {
    // A group that is otherwise unused; somebody who guesses it loses links of this namespace only.
    const uint32_t group = std::random_device()() | 1U;
    bool whole = true;
    for (const int index : indices) {
      NlMessage message = link_message(RTM_SETLINK, 0, index);
      message.put_u32(IFLA_GROUP, group);
      const auto grouped = route_.request(message);
      whole = whole && (grouped || gone_already(grouped));
    }
    NlMessage message = link_message(RTM_DELLINK, 0, 0);
    message.put_u32(IFLA_GROUP, group);
    // Refused as a whole if one of them cannot be removed (rtnl_group_dellink()).
    if (whole && route_.request(message)) return {};
  }
  for (const int index : indices) TRY(remove_one(index));
  return {};
}

Result<std::optional<int>> NetlinkKernel::nsid_of(int netns_fd) {
  NlMessage message(RTM_GETNSID, 0);
  message.put_header(rtgenmsg{});
  message.put_u32(NETNSA_FD, static_cast<uint32_t>(netns_fd));
  int id = NETNSA_NSID_NOT_ASSIGNED;
  TRY(route_.query(message,
                   [&](NlBytes reply) -> Result<> {
                     const auto parts = TRY(split<rtgenmsg>(reply));
                     for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
                       if (type == NETNSA_NSID) id = number_of<int>(value);
                     });
                     return {};
                   }),
      "ask for the number of a namespace");
  return id == NETNSA_NSID_NOT_ASSIGNED ? std::nullopt : std::optional(id);
}

}  // namespace vfrail
