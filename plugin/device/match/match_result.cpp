#include "plugin/device/match/match_result.h"

#include "common/text.h"
#include "plugin/device/config/selector_table.h"
#include "plugin/device/match/pools.h"
#include "plugin/device/match/selector_match.h"

namespace vfrail::plugin {
namespace {

// Why the function cannot be in that resource whatever its selectors are; empty if it can.
std::optional<Refusal> find_exclusion(const ResourceConfig& resource, const DeviceFacts& function) {
  if (!function.driver.is_bound()) return Refusal{ErrorId::no_driver, "no driver is bound"};
  // Of accelerators the peer offers PFs and VFs alike.
  if (function.num_vfs == 0 || shares(resource) || resource.device_type != DeviceType::net_device)
    return std::nullopt;
  return Refusal{ErrorId::pf_has_vfs, "PF with " + std::to_string(function.num_vfs) +
                                          (function.num_vfs == 1 ? " VF: only its VF is advertised"
                                                                 : " VFs: only its VFs are advertised")};
}

bool refuses(HostUse policy, HostUseFact::Kind kind) {
  if (policy == HostUse::allow) return false;
  return policy == HostUse::refuse || kind != HostUseFact::Kind::address;
}

// Without the device's name, so that the members of one bond share the sentence.
std::optional<Refusal> refuse_for_host(const ResourceConfig& resource, const DeviceFacts& function) {
  std::vector<std::string> facts;
  bool seen = false;
  for (const HostUseFact& fact : function.host_use) {
    if (!refuses(resource.host_use, fact.kind)) continue;
    facts.push_back(fact.what);
    seen = seen || fact.kind != HostUseFact::Kind::unseen;
  }
  if (facts.empty()) return std::nullopt;
  return Refusal{ErrorId::host_uses_device,
                 resource.resource() + ": left out, the host " + (seen ? "uses" : "may use") +
                     " it: " + joined(facts, "; ") + " (hostUse: allow would advertise it)",
                 resource.resource()};
}

std::optional<size_t> find_selector(const ResourceConfig& resource, const DeviceFacts& function) {
  for (size_t i = 0; i < resource.selectors.size(); ++i) {
    if (selects(resource.selectors[i], function)) return i;
  }
  return std::nullopt;
}

std::vector<Refusal> find_mismatches(const ResourceConfig& resource, const DeviceFacts& function) {
  std::vector<Refusal> out;
  for (size_t i = 0; i < resource.selectors.size(); ++i) {
    const std::string which = resource.selectors.size() > 1 ? "selectors[" + std::to_string(i) + "]: " : "";
    out.push_back({ErrorId::not_selected, resource.resource() + ": " + which +
                                              find_mismatch(resource.selectors[i], function).value_or("")});
  }
  return out;
}

}  // namespace

DeviceType type_of(const DeviceFacts& function) {
  switch (function.kind) {
    case FunctionKind::network:
      return DeviceType::net_device;
    case FunctionKind::sub_function:
      return DeviceType::aux_net_device;
    case FunctionKind::accelerator:
      break;
  }
  return DeviceType::accelerator;
}

MatchResult evaluate(const ResourceConfig& resource, const DeviceFacts& function) {
  if (resource.device_type != type_of(function)) {
    return {MatchKind::other_type,
            std::nullopt,
            {{ErrorId::other_device_type, resource.resource() + ": deviceType is " +
                                              type_name(resource.device_type) + ", but this is " +
                                              type_name(type_of(function))}}};
  }
  const auto selector = find_selector(resource, function);
  if (auto exclusion = find_exclusion(resource, function))
    return {MatchKind::excluded, selector, {*std::move(exclusion)}};
  if (!selector) return {MatchKind::no_selector, selector, find_mismatches(resource, function)};
  MatchResult out{MatchKind::selected, selector, {}};
  if (function.manages_nvlink) {  // of no use to any pod, also where hostUse is "allow"
    out.reasons.push_back(
        {ErrorId::manages_nvlink,
         resource.resource() +
             ": the NVLink switches are managed through it (SW_MNG in its vital product data)",
         resource.resource()});
  }
  if (auto refusal = refuse_for_host(resource, function)) out.reasons.push_back(*std::move(refusal));
  if (!out.reasons.empty()) out.kind = MatchKind::host_use;
  return out;
}

}  // namespace vfrail::plugin
