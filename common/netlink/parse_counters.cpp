// Counters of VFs, links and RDMA ports in the kernel's answers.
#include "common/netlink/attributes.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

namespace vfrail {

namespace {

// More than any driver has (mlx5 has 60); a longer list is not a list of counters.
constexpr size_t kMaxCounters = 1024;

bool visit_nested(const nlattr* list, const std::function<void(int, const nlattr*)>& visit) {
  return for_each_attribute(nla_data(list), static_cast<size_t>(nla_len(list)), visit);
}

TrafficCounters read_vf_stats(const nlattr* list) {
  TrafficCounters out;
  visit_nested(list, [&](int type, const nlattr* value) {
    switch (type) {
      case IFLA_VF_STATS_RX_PACKETS:
        out.rx_packets = number_of<uint64_t>(value);
        break;
      case IFLA_VF_STATS_TX_PACKETS:
        out.tx_packets = number_of<uint64_t>(value);
        break;
      case IFLA_VF_STATS_RX_BYTES:
        out.rx_bytes = number_of<uint64_t>(value);
        break;
      case IFLA_VF_STATS_TX_BYTES:
        out.tx_bytes = number_of<uint64_t>(value);
        break;
      case IFLA_VF_STATS_RX_DROPPED:
        out.rx_dropped = number_of<uint64_t>(value);
        break;
      case IFLA_VF_STATS_TX_DROPPED:
        out.tx_dropped = number_of<uint64_t>(value);
        break;
      default:
        break;
    }
  });
  return out;
}

// One IFLA_VF_INFO: the VF's number begins each of its parts, the counters apart.
void read_vf_info(const nlattr* list, std::vector<VfTraffic>& out) {
  std::optional<uint32_t> vf;
  std::optional<TrafficCounters> traffic;
  visit_nested(list, [&](int type, const nlattr* value) {
    if (type == IFLA_VF_MAC) vf = number_of<uint32_t>(value);
    if (type == IFLA_VF_STATS) traffic = read_vf_stats(value);
  });
  if (vf && traffic) out.push_back({*vf, *traffic});
}

std::optional<NamedCounter> read_counter(const nlattr* list) {
  NamedCounter out;
  visit_nested(list, [&](int type, const nlattr* value) {
    if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME) out.name = text_of(value);
    if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE) out.value = number_of<uint64_t>(value);
  });
  if (out.name.empty()) return std::nullopt;
  return out;
}

}  // namespace

Result<std::vector<VfTraffic>> parse_vf_traffic(NlBytes message) {
  const auto parts = TRY(split<ifinfomsg>(message));
  if (parts.type != RTM_NEWLINK) return malformed("no link");
  std::vector<VfTraffic> out;
  const bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* list) {
    if (type != IFLA_VFINFO_LIST) return;
    visit_nested(list, [&](int inner, const nlattr* info) {
      if (inner == IFLA_VF_INFO) read_vf_info(info, out);
    });
  });
  if (!fits) return malformed("attributes of a PF");
  return out;
}

Result<LinkTraffic> parse_link_traffic(NlBytes message) {
  const auto parts = TRY(split<ifinfomsg>(message));
  if (parts.type != RTM_NEWLINK) return malformed("no link");
  LinkTraffic out;
  out.index = parts.header.ifi_index;
  const bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
    if (type == IFLA_PARENT_DEV_NAME) out.parent_device = text_of(value);
    if (type != IFLA_STATS64) return;
    const auto stats = number_of<rtnl_link_stats64>(value);
    out.traffic = {.rx_packets = stats.rx_packets,
                   .tx_packets = stats.tx_packets,
                   .rx_bytes = stats.rx_bytes,
                   .tx_bytes = stats.tx_bytes,
                   .rx_dropped = stats.rx_dropped,
                   .tx_dropped = stats.tx_dropped};
  });
  if (!fits || out.index <= 0) return malformed("attributes of a link");
  return out;
}

Result<std::vector<NamedCounter>> parse_rdma_counters(NlBytes message) {
  const NlBytes attributes = TRY(rdma_attributes(message));
  std::vector<NamedCounter> out;
  const bool fits =
      for_each_attribute(attributes.data(), attributes.size(), [&](int type, const nlattr* list) {
        if (type != RDMA_NLDEV_ATTR_STAT_HWCOUNTERS) return;
        visit_nested(list, [&](int inner, const nlattr* entry) {
          if (inner != RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY || out.size() == kMaxCounters) return;
          if (auto counter = read_counter(entry)) out.push_back(std::move(*counter));
        });
      });
  if (!fits) return malformed("attributes of RDMA counters");
  return out;
}

}  // namespace vfrail
