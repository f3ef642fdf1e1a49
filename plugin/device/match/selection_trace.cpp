#include "plugin/device/match/selection_trace.h"

#include "common/text.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

ResourceTrace trace(const ResourceConfig& resource, const DeviceFacts& function) {
  ResourceTrace out;
  out.resource = resource.resource();
  out.result = evaluate(resource, function);
  for (const Selector& selector : resource.selectors) out.selectors.push_back(compare(selector, function));
  return out;
}

// The resource that already has it when this resource's turn comes; empty: none.
std::string find_claimer(const Config& config, const FunctionTrace& traced, size_t index) {
  if (shares(config.resources[index])) return "";
  for (size_t i = 0; i < index; ++i) {
    const bool selected = traced.resources[i].result.kind == MatchKind::selected;
    if (selected && !shares(config.resources[i])) return traced.resources[i].resource;
  }
  return "";
}

Fault find_fault_in(const DevicesById& devices, const DeviceFacts& function) {
  const auto device = devices.find(function.id.text());
  return device == devices.end() ? Fault() : device->second->fault;
}

struct Miss {
  size_t failed = 0;
  std::string text;
};

std::string say_miss(const ResourceTrace& resource, size_t selector, const std::vector<FieldMatch>& fields) {
  std::vector<std::string> failed;
  for (const FieldMatch& field : fields) {
    if (!field.matches) failed.push_back(field.text());
  }
  const std::string which =
      resource.selectors.size() > 1 ? " (selectors[" + std::to_string(selector) + "])" : std::string();
  return resource.resource + which + ": it misses by " + joined(failed, "; ");
}

// The selector with the fewest failed fields, if some of its fields match: otherwise the sentence would only
// say that the two are unrelated.
std::string find_nearest_miss(const FunctionTrace& traced) {
  std::optional<Miss> nearest;
  for (const ResourceTrace& resource : traced.resources) {
    if (resource.result.kind != MatchKind::no_selector) continue;
    for (size_t i = 0; i < resource.selectors.size(); ++i) {
      const auto& fields = resource.selectors[i];
      const auto failed = static_cast<size_t>(std::count_if(
          fields.begin(), fields.end(), [](const FieldMatch& field) { return !field.matches; }));
      if (failed == fields.size() || (nearest && nearest->failed <= failed)) continue;
      nearest = Miss{failed, say_miss(resource, i, fields)};
    }
  }
  return nearest ? nearest->text : "";
}

const Lag* find_lag(const DeviceFacts& function, const Inventory& inventory) {
  for (const Lag& lag : inventory.lags) {
    for (const Netdev& netdev : function.netdevs) {
      if (std::find(lag.members.begin(), lag.members.end(), netdev.name) != lag.members.end()) return &lag;
    }
  }
  return nullptr;
}

void remark_on_lag(const DeviceFacts& function, const Inventory& inventory, std::vector<std::string>& out) {
  const Lag* lag = find_lag(function, inventory);
  if (lag == nullptr) return;
  out.push_back("it is a member of " + lag->name + ", a bond (" + lag->mode + ") of " + joined(lag->members));
  for (const RdmaFacts& rdma : function.rdma) {
    const bool ethernet = std::any_of(rdma.ports.begin(), rdma.ports.end(),
                                      [](const RdmaPort& port) { return port.link_layer == "Ethernet"; });
    if (ethernet)
      out.push_back("its RDMA device " + rdma.name +
                    " is the one of that bond: RoCE over all its members, no " + "InfiniBand");
  }
}

void remark_on_rdma_mode(const DeviceFacts& function, const Inventory& inventory,
                         std::vector<std::string>& out) {
  if (!function.rdma_capable) return;
  if (!inventory.rdma_netns_mode) {
    out.emplace_back("RDMA's namespace mode is not known: RDMA is not loaded");
  } else if (*inventory.rdma_netns_mode == RdmaNetnsMode::exclusive) {
    out.emplace_back(
        "RDMA is in exclusive namespace mode: its RDMA device moves into the pod with its netdev, and is not "
        "in the host meanwhile");
  } else {
    out.emplace_back(
        "RDMA is in shared namespace mode: its RDMA device stays in the host, the pod reaches it through its "
        "device nodes and sees the names of all others");
  }
}

}  // namespace

std::vector<std::string> ResourceTrace::ids() const {
  std::vector<Refusal> all = result.reasons;
  if (!claimed_by.empty()) all.push_back({ErrorId::claimed_before, ""});
  if (!fault.empty()) all.push_back({id_of(fault.code), ""});
  return ids_of(all);
}

std::vector<std::string> find_remarks(const DeviceFacts& function, const Inventory& inventory) {
  std::vector<std::string> out;
  if (function.away())
    out.emplace_back(
        function.attached
            ? "neither its netdev nor its RDMA device is in the host: a pod has it"
            : "neither its netdev nor its RDMA device is in this network namespace, and vfrail-cni has no "
              "record of a pod that has them");
  remark_on_lag(function, inventory, out);
  remark_on_rdma_mode(function, inventory, out);
  for (const RdmaFacts& rdma : function.rdma) {
    for (const RdmaPort& port : rdma.ports) {
      if (port.link_layer == "InfiniBand" && port.state == "DOWN")
        out.push_back("port " + std::to_string(port.number) + " of " + rdma.name + " is DOWN" +
                      (port.physical.empty() ? "" : " (" + port.physical + ")"));
    }
  }
  return out;
}

std::vector<FunctionTrace> trace_selection(const Config& config, const Inventory& inventory,
                                           const Pools& pools) {
  std::vector<DevicesById> devices;
  for (const Pool& pool : pools.pools) devices.push_back(index(pool));
  std::vector<FunctionTrace> out;
  for (const DeviceFacts& function : inventory.functions) {
    FunctionTrace traced;
    traced.function = &function;
    for (size_t i = 0; i < config.resources.size(); ++i) {
      traced.resources.push_back(trace(config.resources[i], function));
      ResourceTrace& resource = traced.resources.back();
      if (resource.result.kind != MatchKind::selected) continue;
      resource.claimed_by = find_claimer(config, traced, i);
      resource.fault = find_fault_in(devices[i], function);
      if (resource.claimed_by.empty()) traced.pools.push_back(resource.resource);
    }
    if (traced.pools.empty()) traced.nearest_miss = find_nearest_miss(traced);
    traced.remarks = find_remarks(function, inventory);
    out.push_back(std::move(traced));
  }
  return out;
}

}  // namespace vfrail::plugin
