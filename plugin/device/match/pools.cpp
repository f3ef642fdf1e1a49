#include "plugin/device/match/pools.h"

#include "common/text.h"
#include "plugin/device/match/health.h"
#include "plugin/device/match/match_result.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

// Reasons of one function that are shown; with more resources these suffice.
constexpr size_t kMaxReasons = 8;

Warning describe_risk(const ResourceConfig& resource, const DeviceFacts& function) {
  std::vector<std::string> facts;
  bool seen = false;
  for (const HostUseFact& fact : function.host_use) {
    facts.push_back(fact.what);
    seen = seen || fact.kind != HostUseFact::Kind::unseen;
  }
  return {resource.resource() + " advertises " + function.address.text() + ", which the host " +
              (seen ? "uses" : "may use") + ": " + joined(facts, "; ") +
              "; a pod that gets it takes it away from the host",
          ErrorId::host_device_offered, resource.resource(), function.address.text()};
}

std::map<std::string, std::string> merge_extra(const ResourceConfig& resource, const DeviceFacts& function) {
  std::map<std::string, std::string> out;
  if (!resource.additional_info) return out;
  // For a sub-function the peer uses its parent's address; its own name is more precise.
  for (const std::string& key : {std::string("*"), function.address.text(), function.id.text()}) {
    const auto found = resource.additional_info->find(key);
    if (found == resource.additional_info->end()) continue;
    for (const auto& [name, value] : found->second) out[name] = value;
  }
  return out;
}

void add_device(const ResourceConfig& resource, const Selector& selector, const DeviceFacts& function,
                Pool& pool, Pools& out) {
  if (!shares(resource) && !function.host_use.empty())
    out.warnings.push_back(describe_risk(resource, function));
  pool.devices.push_back(make_device(resource, selector, function));
}

// At most kMaxReasons, and none twice: what excludes a function from one resource mostly excludes it from
// all.
std::vector<Refusal> condense(std::vector<Refusal> reasons) {
  std::vector<Refusal> out;
  for (Refusal& reason : reasons) {
    if (std::find(out.begin(), out.end(), reason) == out.end()) out.push_back(std::move(reason));
  }
  if (out.size() > kMaxReasons) {
    const size_t more = out.size() - kMaxReasons + 1;
    out.resize(kMaxReasons - 1);
    out.push_back(
        {ErrorId::not_selected, "and " + std::to_string(more) + " more selectors that do not match"});
  }
  return out;
}

// Puts the function into every shared pool that selects it and into the first of the others that does, or
// says why it is in none.
std::optional<LeftOut> place(const Config& config, const DeviceFacts& function, Pools& out) {
  LeftOut left{function.id.text(), {}, LeftOut::Kind::not_selected};
  bool of_type = false;
  bool placed = false;
  bool taken = false;
  for (size_t i = 0; i < config.resources.size(); ++i) {
    const ResourceConfig& resource = config.resources[i];
    if (taken && !shares(resource)) continue;
    MatchResult result = evaluate(resource, function);
    if (result.kind == MatchKind::other_type) continue;
    of_type = true;
    if (result.kind == MatchKind::selected) {
      add_device(resource, resource.selectors[*result.selector], function, out.pools[i], out);
      placed = true;
      taken = taken || !shares(resource);
      continue;
    }
    for (Refusal& reason : result.reasons) left.reasons.push_back(std::move(reason));
    if (result.kind == MatchKind::excluded)
      left.kind = function.num_vfs > 0 ? LeftOut::Kind::has_vfs : LeftOut::Kind::no_driver;
    if (result.kind == MatchKind::host_use) left.kind = LeftOut::Kind::host_use;
  }
  if (placed) return std::nullopt;
  left.reasons = condense(std::move(left.reasons));
  if (config.resources.empty()) left.reasons = {{ErrorId::config_empty, "the configuration has no resource"}};
  if (!config.resources.empty() && !of_type)
    left.reasons = {{ErrorId::other_device_type,
                     std::string("no resource has the deviceType ") + type_name(type_of(function))}};
  return left;
}

// A PF in one pool and its sub-functions in another: the pod with the PF takes the others' port.
void warn_about_parents(const Inventory& inventory, Pools& out) {
  std::map<std::string, const Pool*> pool_of;
  for (const Pool& pool : out.pools) {
    if (shares(pool.config)) continue;
    for (const PoolDevice& device : pool.devices) pool_of.emplace(device.id(), &pool);
  }
  for (const DeviceFacts& function : inventory.functions) {
    if (function.kind != FunctionKind::sub_function) continue;
    const auto parent = pool_of.find(function.address.text());
    if (parent == pool_of.end() || !pool_of.contains(function.id.text())) continue;
    out.warnings.push_back(
        {parent->second->resource() + " advertises " + function.address.text() + ", whose sub-function " +
             function.id.text() + " is advertised as well; a pod " +
             "that gets the one takes the port of the other away",
         ErrorId::port_offered_twice, parent->second->resource(), function.address.text()});
  }
}

void warn_about_sharing(const Inventory& inventory, Pools& out) {
  for (const Pool& pool : out.pools) {
    if (const std::string fault = sharing_fault(pool, inventory); !fault.empty())
      out.warnings.push_back({fault, ErrorId::rdma_exclusive_mode, pool.resource()});
  }
}

void warn_about_vhost(const Config& config, const Inventory& inventory, Pools& out) {
  if (inventory.vhost_net) return;
  for (const ResourceConfig& resource : config.resources) {
    const bool wanted = std::any_of(resource.selectors.begin(), resource.selectors.end(),
                                    [](const Selector& selector) { return selector.need_vhost_net; });
    if (!wanted) continue;
    out.warnings.push_back(
        {resource.resource() +
             " has needVhostNet, but /dev/vhost-net or /dev/net/tun is not there, so containers get neither "
             "(modprobe -a vhost_net tun)",
         ErrorId::extra_node_missing, resource.resource()});
  }
}

void add_port_devices(const std::vector<RdmaFacts>& devices, Pools& out) {
  for (const RdmaFacts& rdma : devices) {
    out.port_devices.insert(rdma.name);
    for (const RdmaPort& port : rdma.ports)
      out.infiniband_ports = out.infiniband_ports || port.link_layer == "InfiniBand";
  }
}

// Those of the ports that the devices have, and of devices that are shared.
void find_port_devices(const Inventory& inventory, Pools& out) {
  std::set<PciAddress> ports;
  for (const Pool& pool : out.pools) {
    for (const PoolDevice& device : pool.devices) {
      if (device.facts.pf) ports.insert(*device.facts.pf);
      if (shares(pool.config)) add_port_devices(device.facts.rdma, out);
    }
  }
  for (const DeviceFacts& function : inventory.functions) {
    if (function.kind == FunctionKind::sub_function || !ports.contains(function.address)) continue;
    add_port_devices(function.rdma, out);
  }
}

}  // namespace

const char* name_of(LeftOut::Kind kind) {
  switch (kind) {
    case LeftOut::Kind::has_vfs:
      return "has_vfs";
    case LeftOut::Kind::no_driver:
      return "no_driver";
    case LeftOut::Kind::host_use:
      return "host_use";
    case LeftOut::Kind::not_selected:
      break;
  }
  return "not_selected";
}

ErrorId id_of(LeftOut::Kind kind) {
  switch (kind) {
    case LeftOut::Kind::has_vfs:
      return ErrorId::pf_has_vfs;
    case LeftOut::Kind::no_driver:
      return ErrorId::no_driver;
    case LeftOut::Kind::host_use:
      return ErrorId::host_uses_device;
    case LeftOut::Kind::not_selected:
      break;
  }
  return ErrorId::not_selected;
}

const PoolDevice* Pool::find(const std::string& id) const {
  const auto at = std::find_if(devices.begin(), devices.end(),
                               [&](const PoolDevice& device) { return device.id() == id; });
  return at == devices.end() ? nullptr : &*at;
}

DevicesById index(const Pool& pool) {
  DevicesById out;
  out.reserve(pool.devices.size());
  for (const PoolDevice& device : pool.devices) out.emplace(device.id(), &device);
  return out;
}

std::set<std::string> ids_of_all(const Pools& pools) {
  std::set<std::string> out;
  for (const LeftOut& function : pools.left_out) out.insert(function.id);
  for (const UnreadDevice& device : pools.unread) out.insert(device.id);
  for (const Pool& pool : pools.pools) {
    for (const PoolDevice& device : pool.devices) out.insert(device.id());
  }
  return out;
}

bool is_any_partly_away(const Pools& pools) {
  return std::any_of(pools.pools.begin(), pools.pools.end(), [](const Pool& pool) {
    return !shares(pool.config) &&
           std::any_of(pool.devices.begin(), pool.devices.end(),
                       [](const PoolDevice& device) { return device.facts.partly_away(); });
  });
}

PoolDevice make_device(const ResourceConfig& resource, const Selector& selector,
                       const DeviceFacts& function) {
  PoolDevice out;
  out.facts = function;
  out.rdma = selector.is_rdma;
  out.vhost_net = selector.need_vhost_net;
  out.vdpa_type = selector.vdpa_type;
  out.extra = merge_extra(resource, function);
  out.fault = find_fault(function, resource);
  out.rdma_nodes = function.visible_rdma_nodes();
  return out;
}

// In exclusive mode the kernel lets nobody in another network namespace open the device.
std::string sharing_fault(const Pool& pool, const Inventory& inventory) {
  const bool exclusive = inventory.rdma_netns_mode == RdmaNetnsMode::exclusive;
  if (!exclusive || !shares(pool.config) || pool.devices.empty()) return "";
  return pool.resource() +
         " shares RDMA devices, but RDMA is in exclusive namespace mode: only pods with hostNetwork can use "
         "them; boot with \"options ib_core netns_mode=1\" to share them with all";
}

Pools match(const Config& config, const Inventory& inventory) {
  Pools out;
  out.unread = inventory.unread;
  const auto gpus = std::make_shared<const std::vector<Gpu>>(inventory.gpus);
  for (const ResourceConfig& resource : config.resources) {
    out.pools.push_back(
        {.config = resource, .devices = {}, .gpus = gpus, .rdma_netns_mode = inventory.rdma_netns_mode});
  }
  // The inventory is sorted by address, so devices and left-outs come out in that order.
  for (const DeviceFacts& function : inventory.functions) {
    if (auto left = place(config, function, out)) out.left_out.push_back(std::move(*left));
  }
  find_port_devices(inventory, out);
  warn_about_parents(inventory, out);
  warn_about_sharing(inventory, out);
  warn_about_vhost(config, inventory, out);
  return out;
}

}  // namespace vfrail::plugin
