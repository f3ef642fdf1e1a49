// The state of sriov-cni, /var/lib/cni/sriov/CONTAINER-IFNAME: its configuration, with the VF as it was under
// OrigVfState (VfState, pkg/types/types.go).
#include "cni/sweep/adopt.h"

namespace vfrail::cni {

namespace {

Result<std::optional<MacAddress>> read_mac(ObjectReader& before, std::string_view key) {
  const auto text = TRY(before.text(key)).value_or("");
  if (text.empty()) return std::optional<MacAddress>();
  const auto mac = MacAddress::parse(text);
  if (!mac) return before.error(key, "must be a MAC address, got \"" + text.substr(0, 60) + "\"");
  return mac;
}

// Keys that its older versions did not write stay unset.
Result<VfSettings> read_vf(ObjectReader& before) {
  VfSettings out;
  out.mac = TRY(read_mac(before, "AdminMAC"));
  if (const auto id = TRY(before.integer("Vlan", 0, 4095))) {
    const auto priority = TRY(before.integer("VlanQoS", 0, 7)).value_or(0);
    const auto protocol = TRY(before.integer("VlanProto", 0, UINT16_MAX)).value_or(0);
    out.vlan = VfVlan{static_cast<uint16_t>(*id), static_cast<uint8_t>(priority),
                      protocol == kVlan8021ad ? kVlan8021ad : kVlan8021q};
  }
  const auto min = TRY(before.integer("MinTxRate", 0, UINT32_MAX));
  const auto max = TRY(before.integer("MaxTxRate", 0, UINT32_MAX));
  if (min && max) out.rate = VfRate{static_cast<uint32_t>(*min), static_cast<uint32_t>(*max)};
  out.spoof_check = TRY(before.boolean("SpoofChk"));
  out.trust = TRY(before.boolean("Trust"));
  if (const auto state = TRY(before.integer("LinkState", 0, 2)))
    out.link_state = static_cast<VfLinkState>(*state);
  return out;
}

}  // namespace

Result<IfName> read_host_name(ObjectReader& state, std::string_view key) {
  const std::string name = TRY(state.text(key)).value_or("");
  IfName out = IfName::parse(name).value_or(IfName());
  if (out != name)
    return state.error(key, "must be the name of an interface, got \"" + name.substr(0, 60) + "\"");
  return out;
}

Result<OtherState> parse_sriov_state(std::string_view text) {
  const Json json = TRY(Json::parse_object(text));
  ObjectReader state(*json.as_object(), "");
  OtherState out;
  out.network = TRY(state.text("name")).value_or("");
  out.device = TRY(DeviceId::parse(TRY(state.text("deviceID")).value_or("")), "deviceID");
  const Json::Object* object = TRY(state.object("OrigVfState"));
  if (object == nullptr) return state.error("OrigVfState", "missing; it has the VF as it was before the pod");
  ObjectReader before(*object, "OrigVfState");
  out.host_name = TRY(read_host_name(before, "HostIFName"));
  out.mac = TRY(read_mac(before, "EffectiveMAC"));
  // 0: of a version that did not write it.
  if (const auto mtu = TRY(before.integer("MTU", 0, UINT32_MAX)); mtu && *mtu != 0)
    out.mtu = static_cast<uint32_t>(*mtu);
  out.vf = TRY(read_vf(before));
  return out;
}

}  // namespace vfrail::cni
