#include "plugin/admin/plan/cluster.h"

#include "common/escape.h"
#include "common/text.h"
#include "plugin/admin/console/table.h"
#include "plugin/admin/plan/way_config.h"
#include "plugin/admin/report/report.h"
#include "plugin/device/match/units.h"

#include <algorithm>
#include <map>
#include <set>

namespace vfrail::plugin {

namespace {

std::string node_name(const PlanFacts& facts) {
  std::string root = facts.roots.empty() ? "/" : facts.roots.front();
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  const size_t slash = root.rfind('/');
  return slash == std::string::npos || slash + 1 == root.size() ? root : root.substr(slash + 1);
}

Json as_list(const Json& selectors) {
  return selectors.as_array() != nullptr ? selectors : Json::array().push(selectors);
}

// Nodes of two kinds with one name of a resource: a device that one of the selectors selects.
void merge_entry(const Json& entry, Json& to) {
  Json all = as_list(*to.find("selectors"));
  const Json more = as_list(*entry.find("selectors"));
  for (const Json& selector : *more.as_array()) {
    const auto& known = *all.as_array();
    if (std::find(known.begin(), known.end(), selector) == known.end()) all.push(selector);
  }
  // That shared cards have addresses of the host is right where it is on one of the nodes.
  if (*entry.find("hostUse") == Json("warn")) to.set("hostUse", "warn");
  to.set("selectors", all.as_array()->size() == 1 ? all.as_array()->front() : all);
}

Json merge(const std::vector<Plan>& plans) {
  Json out;
  for (const Plan& plan : plans) {
    if (plan.config.is_null()) continue;
    for (const auto& [list, entries] : *plan.config.as_object()) {
      Json all = out.find(list) == nullptr ? Json::array() : *out.find(list);
      for (const Json& entry : *entries.as_array()) {
        auto& known = *all.as_array();
        const auto same = std::find_if(known.begin(), known.end(), [&](const Json& other) {
          return *other.find("resourceName") == *entry.find("resourceName");
        });
        if (same == known.end())
          all.push(entry);
        else
          merge_entry(entry, *same);
      }
      out.set(list, std::move(all));
    }
  }
  return out;
}

using DevicesOf = std::map<std::string, std::set<std::string>>;  // by resource

DevicesOf devices_of(const std::vector<Pool>& pools) {
  DevicesOf out;
  for (const Pool& pool : pools) {
    for (const PoolDevice& device : pool.devices) out[pool.resource()].insert(device.id());
  }
  return out;
}

void compare(const Plan& plan, const std::vector<Pool>& common, std::vector<std::string>& out) {
  const DevicesOf own = devices_of(pools_of(plan.config, plan.facts.inventory));
  DevicesOf all = devices_of(common);
  for (const auto& [resource, ids] : own) all[resource];
  for (const auto& [resource, ids] : all) {
    const auto at = own.find(resource);
    if (at != own.end() && at->second == ids) continue;
    out.push_back(node_name(plan.facts) + ": by the common configuration " + resource + " has " +
                  (ids.empty() ? "nothing" : first_few({ids.begin(), ids.end()})) + ", by its own " +
                  (at == own.end() ? "nothing" : first_few({at->second.begin(), at->second.end()})) +
                  ": give this kind of node a configuration of its own");
  }
}

const FabricPlan* fabric_of(const Plan& plan, const std::string& resource) {
  for (const FabricPlan& fabric : plan.fabrics) {
    for (const Pool& pool : fabric.way(fabric.recommended).pools) {
      if (pool.resource() == resource) return &fabric;
    }
  }
  return nullptr;
}

void add_node(const Plan& plan, ClusterPlan& out) {
  const std::vector<Pool> pools = pools_of(out.config, plan.facts.inventory);
  compare(plan, pools, out.warnings);
  bool any = false;
  for (const Pool& pool : pools) {
    if (pool.devices.empty()) continue;
    any = true;
    NodeResource& one = out.resources.emplace_back();
    one.node = node_name(plan.facts);
    one.resource = pool.resource();
    if (const FabricPlan* fabric = fabric_of(plan, one.resource)) {
      one.way = fabric->title(fabric->recommended);
      one.why = fabric->why;
    }
    const auto units = make_units(pool);
    one.units = units.size();
    one.healthy_units = count_healthy(units);
    for (const PoolDevice& device : pool.devices) one.devices.push_back(device.id());
  }
  if (!any) out.without.push_back(node_name(plan.facts));
}

void add_pods(const Plan& plan, ClusterPlan& out) {
  for (const FabricPlan& fabric : plan.fabrics) {
    const NextPod pod{fabric.way(fabric.recommended).resource,
                      plan.facts.roots.empty() ? "" : plan.facts.roots.front(),
                      plan.facts.inventory.gpus.size()};
    const bool known = std::any_of(out.pods.begin(), out.pods.end(),
                                   [&](const NextPod& other) { return other.resource == pod.resource; });
    if (!known) out.pods.push_back(pod);
  }
}

ClusterPlan merge_nodes(const std::vector<PlanFacts>& nodes) {
  std::vector<Plan> plans;
  for (const PlanFacts& facts : nodes) plans.push_back(make_plan(facts));
  ClusterPlan out;
  out.config = merge(plans);
  for (const Plan& plan : plans) {
    if (!out.config.is_null())
      add_node(plan, out);
    else
      out.without.push_back(node_name(plan.facts));
    add_pods(plan, out);
  }
  return out;
}

}  // namespace

ClusterPlan make_cluster_plan(std::vector<PlanFacts>& nodes) {
  ClusterPlan out = merge_nodes(nodes);
  if (out.warnings.empty()) return out;
  // What selects the right devices of one kind of node selects too much of another: by addresses, then.
  for (PlanFacts& facts : nodes) facts.by_address = true;
  return merge_nodes(nodes);
}

std::string render_cluster_plan(const ClusterPlan& plan, const std::vector<std::string>& roots) {
  std::string out = "Which node gets what\n";
  std::vector<Row> rows = {{"  NODE", "RESOURCE", "WAY", "HEALTHY UNITS", "DEVICES"}};
  for (const NodeResource& one : plan.resources) {
    rows.push_back({"  " + escaped(one.node), one.resource, one.way,
                    std::to_string(one.healthy_units) + " of " + std::to_string(one.units),
                    first_few(one.devices)});
  }
  for (const std::string& node : plan.without)
    rows.push_back({"  " + escaped(node), "-", "no RDMA device for pods", "-", "-"});
  out += align(rows);
  for (const std::string& warning : plan.warnings) out += "  warning: " + escaped(warning) + "\n";
  out += "  All that a node lacks, and why: vfrail plan --root of that node alone.\n";
  if (plan.config.is_null()) return out;
  out += "\nConfiguration for all of these nodes\n" + well_formed(plan.config.pretty()) + "\n\nNext\n";
  return out + next_steps(plan.pods, roots);
}

Json cluster_plan_json(const ClusterPlan& plan) {
  Json nodes = Json::array();
  for (const NodeResource& one : plan.resources)
    nodes.push(Json::object()
                   .set("node", one.node)
                   .set("resource", one.resource)
                   .set("why", one.why)
                   .set("units", static_cast<int64_t>(one.units))
                   .set("healthy_units", static_cast<int64_t>(one.healthy_units))
                   .set("devices", Json(one.devices)));
  return Json::object()
      .set("schema_version", kSchemaVersion)
      .set("node_resources", std::move(nodes))
      .set("nodes_without", Json(plan.without))
      .set("warnings", Json(plan.warnings))
      .set("configuration", plan.config);
}

}  // namespace vfrail::plugin
