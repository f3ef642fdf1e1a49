#include "cni/steps/vf_steps.h"

#include "cni/node/device.h"
#include "cni/steps/rebind_step.h"
#include "common/errors/error_id.h"

namespace vfrail::cni {

namespace {

// Errors that a retry does not change: the driver or the hardware does not support it.
bool is_final(const Error& error) {
  return error.sys == EOPNOTSUPP || error.sys == EINVAL || error.sys == EPERM || error.sys == ERANGE ||
         error.sys == EPROTONOSUPPORT || error.sys == EADDRNOTAVAIL;
}

// What drivers make of EINVAL and EOPNOTSUPP, and what can be done about it.
std::string remedy_for(const VfSettings& refused) {
  const std::string text = refused.text();
  const bool is_guid = refused.node_guid || refused.port_guid;
  const std::string key = is_guid ? "guid" : text.substr(0, text.find(' '));
  std::string out = " (the PF's driver does not have this setting, or not this value";
  if (refused.rate) {
    out += refused.rate->min != 0 ? "; few drivers have a min_tx_rate, and none over the link's speed"
                                  : "; Mbit/s, and not over the link's speed";
  }
  return out + "; take " + key + " out of the network configuration, or try it by hand: ip link set PF vf N)";
}

// Zeros mean that the VF may choose, which some drivers do not take back; what it had chosen does as well.
bool set_own_mac(const VfPlace& place, const VfSettings& one, const Record& record, World& world) {
  if (!one.mac || !one.mac->all_zero() || !record.link) return false;
  return static_cast<bool>(world.host.change_vf(place.pf_link, place.index, {.mac = record.link->mac}));
}

// One setting per request, after they were refused together. Returns those that are refused and differ.
Result<VfSettings> set_each(const VfPlace& place, const VfSettings& settings, const Record& record,
                            World& world) {
  VfSettings refused;
  std::optional<Error> failure;
  for (const VfSettings& one : settings.each()) {
    auto done = world.host.change_vf(place.pf_link, place.index, one);
    if (done) continue;
    if (is_final(done.error())) {
      world.log.warning("the PF's driver refused to restore a setting",
                        {{"pf", place.pf},
                         {"setting", one.text()},
                         {"reason", done.error().text},
                         {"id", id_text(ErrorId::vf_setting_refused)}});
      if (!set_own_mac(place, one, record, world)) refused = refused.with(one);
    } else if (!failure) {
      failure = std::move(done).error().in("set " + one.text() + " on VF " + std::to_string(place.index) +
                                           " of " + place.pf);
    }
  }
  if (failure) return std::move(*failure);
  if (refused.empty()) return refused;
  const auto now = TRY(world.host.vf_settings(place.pf_link, place.index), place.pf);
  return now.value_or(VfSettings()).missing(refused);
}

// No value if the VF is gone, with or without its PF: then there is nothing to restore.
Result<std::optional<VfPlace>> find_changed_vf(const Record& record, World& world) {
  if (!record.vf || !record.device) return std::optional<VfPlace>();
  auto found = TRY(find_vf_place(world.sys, *record.device, record.port), "find the PF");
  if (found.later)
    return Error{Errc::busy, 0,
                 "the settings of VF " + record.device->text() + " cannot be restored now: " + found.why_not +
                     "; try again when the PF's driver has started",
                 ErrorId::no_pf};
  if (!found.place) {
    world.log.warning("the VF's settings cannot be restored",
                      {{"reason", found.why_not}, {"id", id_text(ErrorId::no_pf)}});
  }
  return std::move(found.place);
}

Result<VfSettings> restore_settings(const VfPlace& place, const VfSettings& settings, const Record& record,
                                    World& world) {
  if (settings.empty() || world.host.change_vf(place.pf_link, place.index, settings)) return VfSettings();
  return set_each(place, settings, record, world);
}

}  // namespace

Result<> change_vf(Kernel& host, const VfPlan& plan) {
  auto done = host.change_vf(plan.place.pf_link, plan.place.index, plan.change);
  if (done) return done;
  // The kernel does not say which one, so they are tried one by one; the roll-back restores all of them.
  std::string refused;
  for (const VfSettings& one : plan.change.each()) {
    const auto alone = host.change_vf(plan.place.pf_link, plan.place.index, one);
    if (alone) continue;
    refused += (refused.empty() ? "" : "; ") + one.text() + ": " + alone.error().text;
    if (is_final(alone.error())) refused += remedy_for(one);
  }
  Error error = std::move(done).error();
  if (!refused.empty()) error.text = refused;
  return std::move(error)
      .with_id(ErrorId::vf_setting_refused)
      .in("set VF " + std::to_string(plan.place.index) + " of " + plan.place.pf);
}

Result<VfSettings> restore_vf_identity(const Record& record, World& world) {
  const auto place = TRY(find_changed_vf(record, world));
  if (!place) return VfSettings();
  VfSettings refused = TRY(restore_settings(*place, record.vf->settings.identity(), record, world));
  if (record.vf->rebind) TRY(rebind_in_turn(record, world));
  return refused;
}

Result<VfSettings> restore_vf_policy(const Record& record, World& world) {
  if (!record.vf || record.vf->settings.policy().empty()) return VfSettings();
  const auto place = TRY(find_changed_vf(record, world));
  return place ? restore_settings(*place, record.vf->settings.policy(), record, world) : VfSettings();
}

}  // namespace vfrail::cni
