// The settings of VFs in the RTM_NEWLINK of their PF.
#include "common/netlink/attributes.h"

#include <arpa/inet.h>

#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

namespace vfrail {

namespace {

// Drivers report -1 for a setting that they do not have (rtnl_fill_vfinfo()).
std::optional<bool> on_or_off(uint32_t setting) {
  return setting == UINT32_MAX ? std::nullopt : std::optional<bool>(setting != 0);
}

void read_vf_vlan(const nlattr* list, VfSettings& out) {
  for_each_attribute(nla_data(list), static_cast<size_t>(nla_len(list)), [&](int type, const nlattr* value) {
    if (type != IFLA_VF_VLAN_INFO) return;
    const auto info = number_of<ifla_vf_vlan_info>(value);
    out.vlan = VfVlan{static_cast<uint16_t>(info.vlan), static_cast<uint8_t>(info.qos),
                      static_cast<uint16_t>(ntohs(info.vlan_proto))};
  });
}

// One IFLA_VF_INFO. Every part of it begins with the VF's number, and the address is never missing
// (rtnl_fill_vfinfo()).
std::optional<VfReport> read_vf_info(const nlattr* list, uint16_t link_type) {
  std::optional<uint32_t> vf;
  VfSettings out;
  for_each_attribute(nla_data(list), static_cast<size_t>(nla_len(list)), [&](int type, const nlattr* value) {
    switch (type) {
      case IFLA_VF_MAC: {
        const auto data = number_of<ifla_vf_mac>(value);
        vf = data.vf;
        out.mac = MacAddress{{data.mac, data.mac + (link_type == ARPHRD_INFINIBAND ? 20 : 6)}};
        break;
      }
      case IFLA_VF_VLAN_LIST:
        read_vf_vlan(value, out);
        break;
      case IFLA_VF_RATE: {
        const auto data = number_of<ifla_vf_rate>(value);
        out.rate = VfRate{data.min_tx_rate, data.max_tx_rate};
        break;
      }
      case IFLA_VF_SPOOFCHK:
        out.spoof_check = on_or_off(number_of<ifla_vf_spoofchk>(value).setting);
        break;
      case IFLA_VF_LINK_STATE: {
        const uint32_t state = number_of<ifla_vf_link_state>(value).link_state;
        if (state <= IFLA_VF_LINK_STATE_DISABLE) out.link_state = static_cast<VfLinkState>(state);
        break;
      }
      case IFLA_VF_TRUST:
        out.trust = on_or_off(number_of<ifla_vf_trust>(value).setting);
        break;
      case IFLA_VF_IB_NODE_GUID:
        out.node_guid = number_of<ifla_vf_guid>(value).guid;
        break;
      case IFLA_VF_IB_PORT_GUID:
        out.port_guid = number_of<ifla_vf_guid>(value).guid;
        break;
      default:
        break;
    }
  });
  return vf ? std::optional(VfReport{*vf, std::move(out)}) : std::nullopt;
}

}  // namespace

Result<std::vector<VfReport>> parse_vfs(NlBytes message) {
  const auto parts = TRY(split<ifinfomsg>(message));
  if (parts.type != RTM_NEWLINK) return malformed("no link");
  std::vector<VfReport> out;
  const auto read_list = [&](const nlattr* list) {
    for_each_attribute(nla_data(list), static_cast<size_t>(nla_len(list)), [&](int type, const nlattr* info) {
      if (type != IFLA_VF_INFO) return;
      if (auto one = read_vf_info(info, parts.header.ifi_type)) out.push_back(std::move(*one));
    });
  };
  const bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
    if (type == IFLA_VFINFO_LIST) read_list(value);
  });
  if (!fits) return malformed("attributes of a PF");
  return out;
}

}  // namespace vfrail
