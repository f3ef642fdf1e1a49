#include "plugin/admin/report/node_report.h"

#include <algorithm>
#include <map>

namespace vfrail::plugin {

namespace {

// match() returns "nvidia.com/hostdev: vendor is ...": the resource is separated from the reason here.
Reason as_reason(const Refusal& refusal, const Pools& pools) {
  const std::string& text = refusal.text;
  for (const Pool& pool : pools.pools) {
    const std::string prefix = pool.resource() + ": ";
    if (text.starts_with(prefix)) return {refusal.id, text.substr(prefix.size()), {pool.resource()}};
  }
  return {refusal.id, text, {}};
}

void add_reason(const Reason& reason, std::vector<Reason>& to) {
  const auto same =
      std::find_if(to.begin(), to.end(), [&](const Reason& one) { return one.text == reason.text; });
  if (same == to.end()) {
    to.push_back(reason);
  } else {
    same->resources.insert(same->resources.end(), reason.resources.begin(), reason.resources.end());
  }
}

std::vector<Reason> without_config(const DeviceFacts& function) {
  std::vector<Reason> out;
  for (const HostUseFact& fact : function.host_use)
    out.push_back({ErrorId::host_uses_device, "the host uses it: " + fact.what, {}});
  if (function.away())
    out.push_back({ErrorId::host_not_visible,
                   "its interface and RDMA device are in another network namespace: a pod has it, or this is "
                   "not the host's namespace",
                   {}});
  return out;
}

DeviceState state_in_none(const DeviceFacts& function, const LeftOut* left) {
  if (function.manages_nvlink) return DeviceState::manages_nvlink;
  if (left == nullptr) return DeviceState::unconfigured;
  switch (left->kind) {
    case LeftOut::Kind::has_vfs:
      return DeviceState::has_vfs;
    case LeftOut::Kind::no_driver:
      return DeviceState::no_driver;
    case LeftOut::Kind::host_use:
      return DeviceState::host_use;
    case LeftOut::Kind::not_selected:
      break;
  }
  return DeviceState::not_selected;
}

DeviceState state_of(const DeviceReport& device, const LeftOut* left) {
  const bool faulty = std::any_of(device.resources.begin(), device.resources.end(),
                                  [](const ResourceUse& use) { return !use.device->fault.empty(); });
  if (faulty || !device.function->unclean.empty()) return DeviceState::unhealthy;
  if (!device.pods.empty()) return DeviceState::allocated;
  if (device.function->away()) return DeviceState::other_netns;
  return device.resources.empty() ? state_in_none(*device.function, left) : DeviceState::healthy;
}

void add_reasons(const InspectFacts& facts, const LeftOut* left, DeviceReport& device) {
  for (const ResourceUse& use : device.resources) {
    const Fault& fault = use.device->fault;
    if (!fault.empty()) add_reason({id_of(fault.code), fault.text, {use.pool->resource()}}, device.reasons);
  }
  if (left != nullptr) {
    for (const Refusal& refusal : left->reasons) add_reason(as_reason(refusal, facts.pools), device.reasons);
  }
  if (!facts.config) device.reasons = without_config(*device.function);
  if (device.resources.empty() && !device.function->unclean.empty())
    device.reasons.push_back({ErrorId::device_unclean,
                              "it could not be restored after its last pod: " + device.function->unclean,
                              {}});
}

template <class Map>
typename Map::mapped_type value_or_none(const Map& map, const std::string& key) {
  const auto at = map.find(key);
  return at == map.end() ? typename Map::mapped_type() : at->second;
}

}  // namespace

const char* name_of(DeviceState state) {
  switch (state) {
    case DeviceState::unhealthy:
      return "unhealthy";
    case DeviceState::allocated:
      return "allocated";
    case DeviceState::other_netns:
      return "other_netns";
    case DeviceState::healthy:
      return "healthy";
    case DeviceState::has_vfs:
      return "has_vfs";
    case DeviceState::manages_nvlink:
      return "manages_nvlink";
    case DeviceState::no_driver:
      return "no_driver";
    case DeviceState::host_use:
      return "host_use";
    case DeviceState::not_selected:
      return "not_selected";
    case DeviceState::unconfigured:
      break;
  }
  return "unconfigured";
}

NodeReport make_report(const InspectFacts& facts) {
  std::map<std::string, std::vector<ResourceUse>> uses;
  for (const Pool& pool : facts.pools.pools) {
    for (const PoolDevice& device : pool.devices) uses[device.id()].push_back({&pool, &device});
  }
  std::map<std::string, const LeftOut*> left_out;
  for (const LeftOut& left : facts.pools.left_out) left_out[left.id] = &left;
  std::map<std::string, const FunctionTrace*> traces;
  for (const FunctionTrace& trace : facts.traces) traces[trace.function->id.text()] = &trace;
  NodeReport out{facts, {}};
  for (const DeviceFacts& function : facts.inventory.functions) {
    DeviceReport& device = out.devices.emplace_back();
    device.function = &function;
    const std::string id = device.id();
    device.trace = value_or_none(traces, id);
    device.hardware = value_or_none(facts.hardware, id);
    device.resources = value_or_none(uses, id);
    device.pods = value_or_none(facts.pods, id);
    const LeftOut* left = value_or_none(left_out, id);
    device.state = state_of(device, left);
    add_reasons(facts, left, device);
  }
  return out;
}

std::optional<Distance> nearest_gpu(const DeviceFacts& function, const std::vector<Gpu>& gpus) {
  std::optional<Distance> out;
  for (const Gpu& gpu : gpus) {
    const Distance far = distance(place_of(function), place_of(gpu));
    if (!out || far < *out) out = far;
  }
  return out;
}

}  // namespace vfrail::plugin
