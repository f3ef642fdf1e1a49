#include "plugin/admin/plan/plan.h"

#include "common/errors/symptom_search.h"
#include "common/node/port_state.h"
#include "common/text.h"
#include "plugin/admin/plan/steps.h"
#include "plugin/admin/plan/ways.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/health.h"
#include "plugin/device/match/units.h"
#include "plugin/device/prefer/distance.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

// Every function with RDMA, whatever it is: why one is left out of this is why no pod can have it.
constexpr const char* kEverything =
    R"({"resourceList":[{"resourcePrefix":"rdma","resourceName":"any","selectors":{"isRdma":true}}]})";
constexpr std::string_view kEverythingPrefix = "rdma/any: ";

bool is_recommended(const Plan& plan, const std::string& id) {
  return std::any_of(plan.fabrics.begin(), plan.fabrics.end(), [&](const FabricPlan& fabric) {
    for (const PoolDevice* device : fabric.way(fabric.recommended).devices()) {
      if (device->id() == id) return true;
    }
    return false;
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

bool is_other(const Plan& plan, const std::string& id) {
  return std::any_of(plan.others.begin(), plan.others.end(),
                     [&](const OtherCard& other) { return other.id == id; });
}

// Cards that pods could have and better do not: the facts are beside them.
void add_others(const std::vector<RailGroup>& groups, Plan& out) {
  for (const RailGroup& group : groups) {
    if (group.other.empty()) continue;
    for (const DeviceFacts* card : group.cards()) {
      std::string why = group.other;
      if (group.speed_mbps && !speed_of(out.facts.hardware, *card))
        why += " (its own speed is not known: that of its model's other ports)";
      for (const HostUseFact& fact : card->host_use) why += "; " + fact.what;
      out.others.push_back({card->id.text(), shown_device(*card), why});
    }
  }
  std::sort(out.others.begin(), out.others.end(),
            [](const OtherCard& a, const OtherCard& b) { return a.id < b.id; });
}

// match()'s reasons; of what the host uses those alone.
void add_left_out(const PlanFacts& facts, Plan& out) {
  const auto everything = parse_config(kEverything, {.file = "plan"});
  if (!everything) return;
  for (const LeftOut& left : match(*everything, facts.inventory).left_out) {
    const DeviceFacts* function = find_function(facts.inventory, left.id);
    if (function == nullptr || !is_worth_saying(*function) || is_recommended(out, left.id) ||
        is_other(out, left.id))
      continue;
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
    const Way& way = fabric.way(fabric.recommended);
    for (const PoolDevice* device : way.devices()) {
      if (way.dark.contains(port_of(device->facts)) && device->fault.empty())
        out.not_offered.push_back({shown_device(device->facts),
                                   "its port has no link; a pod gets it all the same, unless health of the "
                                   "resource has \"carrier\": true",
                                   id_of(FaultCode::no_carrier)});
      if (device->fault.empty()) continue;
      out.not_offered.push_back({shown_device(device->facts),
                                 device->fault.text + "; it is in the pool, and counts when that has ended",
                                 id_of(device->fault.code)});
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
    for (const PoolDevice* device : fabric.way(fabric.recommended).devices())
      recommended.push_back(device->id());
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
    const Json& config = fabric.way(fabric.recommended).config;
    for (const auto& [list, entries] : *config.as_object()) {
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
  const Symptom& refused = symptom_of(SymptomId::memory_refused);
  const Symptom& ended = symptom_of(SymptomId::nccl_ended);
  out.errors.push_back({shown_message(refused.messages[0]) + "; " + shown_message(ended.messages[0]) + "; " +
                            shown_message(ended.messages[1]),
                        cause, std::string(refused.remedy)});
}

const RdmaPort* find_port_down(const RdmaFacts& rdma) {
  const auto at = std::find_if(rdma.ports.begin(), rdma.ports.end(),
                               [](const RdmaPort& port) { return port.state == "DOWN"; });
  return at == rdma.ports.end() ? nullptr : &*at;
}

std::string message_of(SymptomId id, size_t number, const std::string& word) {
  std::string out(symptom_of(id).messages[number]);
  return out.replace(out.find('*'), 1, word);
}

// What those who wrote about such nodes have seen, where this node has the cause.
void add_errors(const PlanFacts& facts, Plan& out) {
  std::vector<std::string> down;
  std::string state, remedy;  // of the first
  std::vector<std::string> outside;
  // In exclusive mode a pod does not even see what is not its own.
  const bool seen = facts.inventory.rdma_netns_mode == RdmaNetnsMode::shared;
  for (const DeviceFacts& function : facts.inventory.functions) {
    if (function.is_vf()) continue;
    for (const RdmaFacts& rdma : function.rdma) {
      if (const RdmaPort* port = find_port_down(rdma)) {
        if (down.empty()) state = shown_state(*port);
        if (down.empty()) remedy = own_port_remedy(*port, function);
        down.push_back(rdma.name.text());
      }
      if (seen && !is_recommended(out, function.id.text())) outside.push_back(rdma.name.text());
    }
  }
  const bool several = down.size() > 1;
  if (!down.empty())
    out.errors.push_back({message_of(SymptomId::port_down, 0, "1"),
                          "-d " + joined(down, " or ") +
                              " on this node: " + (several ? "their ports are down" : "its port is " + state),
                          "name another device with -d, or mend the port: " +
                              (several ? "vfrail explain VF-PORT-DOWN" : remedy)});
  if (!outside.empty())
    out.errors.push_back(
        {message_of(SymptomId::no_device, 1, outside.front()),
         joined(outside, ", ") + (outside.size() == 1 ? " is visible in the pod and is in no resource of it"
                                                      : " are visible in the pod and in no resource of it"),
         "request a resource that selects it; vfrail-check names the devices of the pod"});
  if (!out.fabrics.empty()) add_memory_error(facts, out);
}

}  // namespace

const char* name_of(WayKind kind) {
  switch (kind) {
    case WayKind::bundle:
      return "bundle";
    case WayKind::per_rail:
      return "per_rail";
    case WayKind::shared:
      return "shared";
    case WayKind::whole:
      return "whole";
    case WayKind::vfs:
      return "vfs";
    case WayKind::sub_functions:
      return "sub_functions";
    case WayKind::host_network:
      return "host_network";
    case WayKind::tcp:
      break;
  }
  return "tcp";
}

std::vector<const PoolDevice*> Way::devices() const {
  std::vector<const PoolDevice*> out;
  for (const Pool& pool : pools) {
    for (const PoolDevice& device : pool.devices) out.push_back(&device);
  }
  return out;
}

const char* FabricPlan::title(WayKind kind) const {
  switch (kind) {
    case WayKind::bundle:
      return passed_through() ? "bundle" : group.has_vfs() ? "bundle of VFs" : "bundle of PFs";
    case WayKind::per_rail:
      return "resource per rail";
    case WayKind::shared:
      return "shared device";
    case WayKind::whole:
      return passed_through() ? "whole device" : "whole PF";
    case WayKind::vfs:
      return "VFs";
    case WayKind::sub_functions:
      return "sub-functions";
    case WayKind::host_network:
      return "host network";
    case WayKind::tcp:
      break;
  }
  if (group.rails.front().any().netdevs.empty()) return "TCP";
  return fabric == Transport::infiniband ? "TCP over IPoIB" : "TCP by macvlan";
}

const Way* FabricPlan::find(WayKind kind) const {
  const auto at = std::find_if(ways.begin(), ways.end(), [&](const Way& one) { return one.kind == kind; });
  return at == ways.end() ? nullptr : &*at;
}

const Way& FabricPlan::way(WayKind kind) const { return *find(kind); }

Plan make_plan(const PlanFacts& facts) {
  const std::vector<RailGroup> groups = group_rails(facts.inventory, facts.hardware);
  Plan out{facts, plan_fabrics(facts, groups), {}, {}, {}, {}, {}};
  add_others(groups, out);
  add_left_out(facts, out);
  add_faulty(out);
  add_configured(facts, out);
  add_errors(facts, out);
  out.config = merge_configs(out.fabrics);
  return out;
}

}  // namespace vfrail::plugin
