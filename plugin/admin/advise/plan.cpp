#include "plugin/admin/advise/plan.h"

#include "common/text.h"
#include "plugin/admin/advise/steps.h"
#include "plugin/admin/advise/ways.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/units.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

// Every function with RDMA, whatever it is: why one is left out of this is why no pod can have it.
constexpr const char* kEverything =
    R"({"resourceList":[{"resourcePrefix":"rdma","resourceName":"any","selectors":{"isRdma":true}}]})";
constexpr std::string_view kEverythingPrefix = "rdma/any: ";

bool is_recommended(const Plan& plan, const std::string& id) {
  return std::any_of(plan.fabrics.begin(), plan.fabrics.end(), [&](const FabricPlan& fabric) {
    return fabric.way(fabric.recommended).pool.find(id) != nullptr;
  });
}

// Ports without RDMA that nothing uses are not reported; those of the host are, as users take them for RDMA
// devices.
bool is_worth_saying(const DeviceFacts& function) {
  return !function.is_vf() && (function.rdma_capable || !function.host_use.empty());
}

const DeviceFacts* find_function(const Inventory& inventory, const std::string& id) {
  for (const DeviceFacts& function : inventory.functions) {
    if (function.id.text() == id) return &function;
  }
  return nullptr;
}

// match()'s reasons; of what the host uses those alone.
void add_left_out(const PlanFacts& facts, Plan& out) {
  const auto everything = parse_config(kEverything, {.file = "plan"});
  if (!everything) return;
  for (const LeftOut& left : match(*everything, facts.inventory).left_out) {
    const DeviceFacts* function = find_function(facts.inventory, left.id);
    if (function == nullptr || !is_worth_saying(*function) || is_recommended(out, left.id)) continue;
    std::vector<std::string> uses;
    for (const HostUseFact& fact : function->host_use) uses.push_back(fact.what);
    std::vector<std::string> reasons;
    for (const Refusal& refusal : left.reasons)
      reasons.push_back(refusal.text.starts_with(kEverythingPrefix)
                            ? refusal.text.substr(kEverythingPrefix.size())
                            : refusal.text);
    if (!uses.empty())
      reasons = {"the host uses it: " + joined(uses, "; ") +
                 (function->rdma_capable ? "" : "; and it has no RDMA device of its own")};
    const ErrorId id = function->host_use.empty() ? left.reasons.front().id : ErrorId::host_uses_device;
    out.not_offered.push_back({shown_device(*function), joined(reasons, "; "), id});
  }
  for (const UnreadDevice& unread : facts.inventory.unread)
    out.not_offered.push_back({unread.id, "it cannot be read: " + unread.reason, ErrorId::device_not_read});
}

void add_faulty(Plan& out) {
  for (const FabricPlan& fabric : out.fabrics) {
    for (const PoolDevice& device : fabric.way(fabric.recommended).pool.devices) {
      if (device.fault.empty()) continue;
      out.not_offered.push_back({shown_device(device.facts),
                                 device.fault.text + "; it is in the pool, and counts when that has ended",
                                 id_of(device.fault.code)});
    }
  }
}

std::vector<std::string> ids_in(const Pool& pool) {
  std::vector<std::string> out;
  for (const PoolDevice& device : pool.devices) out.push_back(device.id());
  return out;
}

void compare_devices(const Plan& plan, const std::vector<std::string>& ids, ConfiguredResource& out) {
  std::vector<std::string> recommended;
  for (const FabricPlan& fabric : plan.fabrics) {
    for (const std::string& id : ids_in(fabric.way(fabric.recommended).pool)) recommended.push_back(id);
  }
  std::vector<std::string> more;
  std::vector<std::string> fewer;
  for (const std::string& id : ids) {
    if (std::find(recommended.begin(), recommended.end(), id) == recommended.end()) more.push_back(id);
  }
  for (const std::string& id : recommended) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) fewer.push_back(id);
  }
  if (!more.empty()) out.differences.push_back("it also has " + joined(more));
  if (!fewer.empty()) out.differences.push_back("it lacks " + joined(fewer));
}

void compare_kind(const Plan& plan, const ResourceConfig& resource, ConfiguredResource& out) {
  const bool recommends_shared =
      std::any_of(plan.fabrics.begin(), plan.fabrics.end(),
                  [](const FabricPlan& fabric) { return fabric.recommended == WayKind::shared; });
  if (plan.fabrics.empty() || recommends_shared == shares(resource)) return;
  out.differences.emplace_back(shares(resource)
                                   ? "pods share its devices; recommended is a device for each pod"
                                   : "each of its devices goes to one pod; recommended is to share them");
}

void add_configured(const PlanFacts& facts, Plan& out) {
  if (!facts.config) return;
  for (const Pool& pool : match(*facts.config, facts.inventory).pools) {
    ConfiguredResource& one = out.configured.emplace_back();
    one.resource = pool.resource();
    one.devices = ids_in(pool);
    for (const Unit& unit : make_units(pool)) {
      ++one.units;
      one.healthy_units += unit.fault.empty() ? 1 : 0;
    }
    if (one.devices.empty()) {
      one.differences.emplace_back("it selects nothing on this node");
      continue;
    }
    compare_devices(out, one.devices, one);
    compare_kind(out, pool.config, one);
  }
}

// The recommended ways together: entries of the same list one after the other.
Json merge_configs(const std::vector<FabricPlan>& fabrics) {
  Json out;
  for (const FabricPlan& fabric : fabrics) {
    for (const auto& [list, entries] : *fabric.way(fabric.recommended).config.as_object()) {
      const Json* before = out.find(list);
      Json all = before == nullptr ? Json::array() : *before;
      for (const Json& entry : *entries.as_array()) all.push(entry);
      out.set(list, std::move(all));
    }
  }
  return out;
}

void add_memory_error(const PlanFacts& facts, Plan& out) {
  const CheckResult* memlock = find_result(facts, "VF-N36");
  std::string cause = "the container may not pin the memory";
  if (memlock == nullptr || memlock->finding == Finding::unknown)
    cause += "; the limit is not known: needs the limits of containerd or crio" +
             (memlock == nullptr ? "" : " (" + memlock->text + ")");
  else if (memlock->finding == Finding::good)
    cause += "; not by the runtime's limit, which is high enough: see `ulimit -l` in the container";
  else
    cause += ": " + memlock->text;
  out.errors.push_back({"Couldn't allocate MR; SIGSEGV in ncclProxyServiceUDS; NCCL: unhandled system error",
                        cause,
                        "memlock of the resource, with CDI; or the capability IPC_LOCK, which has an effect "
                        "for root alone; or "
                        "LimitMEMLOCK of the container runtime. A memory limit of the pod is not the cause"});
}

// What those who wrote about such nodes have seen, where this node has the cause.
void add_errors(const PlanFacts& facts, Plan& out) {
  for (const DeviceFacts& function : facts.inventory.functions) {
    for (const RdmaFacts& rdma : function.rdma) {
      const bool down = std::any_of(rdma.ports.begin(), rdma.ports.end(),
                                    [](const RdmaPort& port) { return port.state == "DOWN"; });
      if (down && !function.is_vf())
        out.errors.push_back({"Port number 1 state is Down",
                              "-d " + rdma.name + " on this node: its port is down",
                              "name another device with -d, or mend the port: vfrail explain VF-PORT-DOWN"});
      // In exclusive mode the pod does not even see it.
      const bool seen = facts.inventory.rdma_netns_mode == RdmaNetnsMode::shared && !function.is_vf();
      if (seen && !is_recommended(out, function.id.text()))
        out.errors.push_back(
            {"IB device " + rdma.name + " not found",
             shown_device(function) + " is visible in the pod and is in no resource of it",
             "request a resource that selects it; without -d ib_write_bw uses the first device of the pod"});
    }
  }
  if (!out.fabrics.empty()) add_memory_error(facts, out);
}

}  // namespace

const char* name_of(WayKind kind) {
  if (kind == WayKind::shared) return "shared";
  return kind == WayKind::whole ? "whole" : "vfs";
}

const char* FabricPlan::title(WayKind kind) const {
  if (kind == WayKind::shared) return "shared device";
  if (kind == WayKind::vfs) return "VFs";
  return passed_through ? "whole device" : "whole PF";
}

const Way& FabricPlan::way(WayKind kind) const {
  return *std::find_if(ways.begin(), ways.end(), [&](const Way& one) { return one.kind == kind; });
}

Plan make_plan(const PlanFacts& facts) {
  Plan out{facts, plan_fabrics(facts), {}, {}, {}, {}};
  add_left_out(facts, out);
  add_faulty(out);
  add_configured(facts, out);
  add_errors(facts, out);
  out.config = merge_configs(out.fabrics);
  return out;
}

}  // namespace vfrail::plugin
