// What is changed at the PF, and the refusals about it and about InfiniBand. Pure.
#include "cni/plan/plan.h"
#include "common/errors/error_id.h"
#include "common/node/driver.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// A VF that has no GUID cannot join the fabric; its port stays down.
Result<> check_guid(const std::optional<uint64_t>& guid, const State& state) {
  const bool ipoib = state.link && state.link->ipoib();
  if (guid && state.link && !ipoib) {
    return Error{Errc::invalid, 0,
                 "guid: " + state.link->name + " of " + state.device.key() +
                     " is not an InfiniBand interface; take guid out of the network",
                 ErrorId::not_infiniband};
  }
  if (!ipoib || guid) return {};
  const auto begin = state.link->mac.bytes.end() - 8;
  const auto all = [&](uint8_t value) {
    return std::all_of(begin, state.link->mac.bytes.end(), [=](uint8_t one) { return one == value; });
  };
  if (!all(0) && !all(0xff)) return {};
  return Error{Errc::invalid, 0,
               state.device.key() +
                   " has no valid GUID, and the configuration gives none; set guid or "
                   "runtimeConfig.infinibandGUID, or use ib-kubernetes",
               ErrorId::guid_missing};
}

// What a VF had where the PF reports no GUID, or 0: that of its IPoIB interface, else all ones, which is
// none. So DEL takes the GUID of the pod away from the VF, as ib-sriov-cni does.
uint64_t guid_of_interface(const State& state) {
  uint64_t out = 0;
  const bool user_space = state.device.driver.is_user_space();
  if (state.link && state.link->ipoib() && !user_space)
    for (auto at = state.link->mac.bytes.end() - 8; at != state.link->mac.bytes.end(); ++at)
      out = out << 8 | *at;
  return out == 0 ? UINT64_MAX : out;
}

VfSettings settings_before(const State& state, const VfSettings& change) {
  VfSettings out = state.vf_settings.only(change);
  if (change.node_guid && out.node_guid.value_or(0) == 0) out.node_guid = guid_of_interface(state);
  if (change.port_guid && out.port_guid.value_or(0) == 0) out.port_guid = guid_of_interface(state);
  return out;
}

// ib-sriov-cni takes a PF if it is bound to vfio, and sets nothing on it.
bool is_pf_for_user_space(const std::string& type, const State& state) {
  return type == "ib-sriov" && state.device.driver.kind() == DriverKind::vfio && !state.vf;
}

// Without what a VF has that nobody has configured: sriov-network-operator writes `vlan: 0`, `vlanQoS: 0`,
// `link_state: auto` and rates of 0 into each network, and where there is no PF there is nothing to set.
VfSettings without_defaults(VfSettings wanted) {
  if (wanted.vlan == VfVlan{}) wanted.vlan.reset();
  if (wanted.rate == VfRate{}) wanted.rate.reset();
  if (wanted.link_state == VfLinkState::automatic) wanted.link_state.reset();
  return wanted;
}

}  // namespace

Result<> check_infiniband(const VfConf& wanted, const std::string& type, const State& state) {
  const bool has_guid = wanted.guid || is_pf_for_user_space(type, state);
  if (wanted.ib_kubernetes && !(wanted.ib_kubernetes_done && has_guid)) {
    return Error{Errc::busy, 0,
                 "ibKubernetesEnabled: ib-kubernetes has not configured this pod yet (args.cni must have "
                 "\"mellanox.infiniband.app\": \"configured\" and a GUID)",
                 ErrorId::ib_kubernetes_pending};
  }
  if (wanted.vfio_wanted && state.device.driver.kind() != DriverKind::vfio) {
    return Error{Errc::invalid, 0,
                 "vfioPciMode: " + state.device.key() + " is bound to " +
                     (state.device.driver.is_bound() ? state.device.driver.name() : "no driver") +
                     ", not to vfio-pci; bind it, or take vfioPciMode out of the network",
                 ErrorId::not_vfio};
  }
  return check_guid(wanted.guid, state);
}

bool reports_pf(const std::string& type, const Device& device) {
  return device.driver.is_user_space() && (type == "sriov" || type == "vfrail");
}

Result<> plan_vf(const VfSettings& asked, const std::string& type, const State& state, AttachPlan& plan) {
  const VfSettings wanted = state.vf ? asked : without_defaults(asked);
  if (!state.link) {
    plan.reported_mac = wanted.mac;
    const auto& at_pf = state.vf_settings.mac;
    const bool reports = reports_pf(type, state.device) && state.pf && !state.pf->ipoib();
    if (reports && !plan.reported_mac && at_pf && !at_pf->all_zero()) plan.reported_mac = at_pf;
    if (reports) plan.reported_mtu = state.pf->mtu;
  }
  if (wanted.empty()) return {};
  if (!state.vf) {
    const bool address_only = wanted == VfSettings{.mac = wanted.mac};
    if (address_only && state.link) return {};  // the netdev has its address all the same
    // host-device reads none of these; and it is the name of many networks of PFs and other interfaces.
    const VfSettings policy = wanted.policy();
    const VfSettings others = wanted.identity();
    const bool others_done = others.empty() || (others == VfSettings{.mac = wanted.mac} && state.link);
    if (type == "host-device" && !policy.empty() && others_done) {
      plan.warnings.push_back(policy.text() + ": ignored, because " + state.no_vf);
      return {};
    }
    if (is_pf_for_user_space(type, state)) {
      plan.reported_mac.reset();
      plan.warnings.push_back(wanted.text() + ": ignored, because " + state.device.key() +
                              " is a PF bound to " + state.device.driver.name());
      return {};
    }
    return Error{
        Errc::invalid, 0,
        wanted.text() + ": only the PF can set that, and " + state.no_vf + "; take it out of the network",
        ErrorId::no_pf};
  }
  VfPlan vf;
  vf.place = *state.vf;
  vf.change = state.vf_settings.missing(wanted);
  if (vf.change.empty()) return {};
  vf.before = settings_before(state, vf.change);
  vf.rebind = vf.change.port_guid && !state.device.driver.is_user_space();
  plan.vf = vf;
  return {};
}

}  // namespace vfrail::cni
