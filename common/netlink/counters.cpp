// The counters of NetlinkKernel.
#include "common/netlink/messages.h"
#include "common/netlink/netlink_kernel.h"
#include "common/netlink/parse.h"

#include <algorithm>
#include <map>
#include <string>
#include <sys/socket.h>

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

namespace vfrail {

// Without RTEXT_FILTER_SKIP_STATS, which would leave out what is asked for.
Result<std::vector<VfTraffic>> NetlinkKernel::vf_traffic(int pf_link) {
  NlMessage message = link_message(RTM_GETLINK, 0, pf_link);
  message.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_VF);
  std::vector<VfTraffic> out;
  TRY(route_.query(message,
                   [&](NlBytes reply) -> Result<> {
                     out = TRY(parse_vf_traffic(reply));
                     return {};
                   }),
      "ask for the counters of the VFs");
  return out;
}

Result<std::vector<LinkTraffic>> NetlinkKernel::link_traffic() {
  auto out = TRY(list(route_, link_message(RTM_GETLINK, NLM_F_DUMP, 0), parse_link_traffic),
                 "list the counters of links");
  const auto is_named = [](const LinkTraffic& one) { return !one.parent_device.empty(); };
  if (std::any_of(out.begin(), out.end(), is_named)) return out;
  // A kernel before 5.14, which reports no device below any interface, or there is no hardware here.
  std::map<int, std::string> parents;
  for (Link& link : TRY(links())) parents.emplace(link.index, std::move(link.parent_device));
  for (LinkTraffic& one : out) one.parent_device = parents[one.index];
  return out;
}

Result<std::vector<NamedCounter>> NetlinkKernel::rdma_counters(uint32_t index, uint32_t port) {
  NlSocket* socket = TRY(needed_rdma());
  NlMessage message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET), 0);
  message.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
  message.put_u32(RDMA_NLDEV_ATTR_PORT_INDEX, port);
  std::vector<NamedCounter> out;
  TRY(socket->query(message,
                    [&](NlBytes reply) -> Result<> {
                      out = TRY(parse_rdma_counters(reply));
                      return {};
                    }),
      "ask for the counters of RDMA port " + std::to_string(port));
  return out;
}

}  // namespace vfrail
