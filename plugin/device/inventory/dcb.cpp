#include "plugin/device/inventory/dcb.h"

#include "common/netlink/raw_attributes.h"

#include <algorithm>
#include <iterator>
#include <sys/socket.h>

#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace vfrail::plugin {

namespace {

using attributes::Bytes;
using attributes::find;
using attributes::header_at;

constexpr uint8_t kPriorities = 8;
constexpr uint8_t kDscps = 64;

std::map<uint8_t, uint8_t> parse_dscp(Bytes table) {
  std::map<uint8_t, uint8_t> out;
  attributes::each(table, [&](uint16_t type, Bytes payload) {
    const auto entry = header_at<dcb_app>(payload, 0);
    if (type != DCB_ATTR_IEEE_APP || !entry || entry->selector != IEEE_8021QAZ_APP_SEL_DSCP) return;
    if (entry->protocol < kDscps && entry->priority < kPriorities)
      out[static_cast<uint8_t>(entry->protocol)] = entry->priority;
  });
  return out;
}

}  // namespace

DcbSettings parse_dcb(std::span<const std::byte> message) {
  constexpr size_t kHeaders = NLMSG_HDRLEN + sizeof(dcbmsg);
  if (message.size() < kHeaders) return {};
  const Bytes ieee = find(message.subspan(kHeaders), DCB_ATTR_IEEE);
  DcbSettings out;
  if (const auto pfc = header_at<ieee_pfc>(find(ieee, DCB_ATTR_IEEE_PFC), 0)) out.lossless = pfc->pfc_en;
  if (const auto ets = header_at<ieee_ets>(find(ieee, DCB_ATTR_IEEE_ETS), 0)) {
    static_assert(sizeof ets->prio_tc == kPriorities);
    std::copy(std::begin(ets->prio_tc), std::end(ets->prio_tc), out.traffic_class.emplace().begin());
  }
  out.dscp = parse_dscp(find(ieee, DCB_ATTR_IEEE_APP_TABLE));
  return out;
}

Result<std::optional<DcbSettings>> read_dcb(NlSocket& socket, const std::string& interface) {
  NlMessage message(RTM_GETDCB, 0);
  message.put_header(dcbmsg{.dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET, .dcb_pad = 0});
  message.put_text(DCB_ATTR_IFNAME, interface);
  DcbSettings out;
  const auto asked = socket.query(message, [&](Bytes answer) {
    out = parse_dcb(answer);
    return Result<>();
  });
  if (asked) return std::optional(std::move(out));
  if (asked.error().code == Errc::unsupported) return std::optional<DcbSettings>();
  return Error(asked.error()).in("ask for the DCB settings of " + interface);
}

}  // namespace vfrail::plugin
