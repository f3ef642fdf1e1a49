#include "plugin/admin/plan/plan_command.h"

#include "common/errors/error_id.h"
#include "common/terminal.h"
#include "common/text.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/plan/cluster.h"
#include "plugin/admin/plan/render_plan.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/device/config/formats/file.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

namespace {

Result<PlanFacts> read_node(const std::string& root) {
  PlanFacts facts;
  facts.inventory = TRY(scan_root(root));
  const SysRoot sys(root);
  const SysRoot own;
  facts.hardware = read_hardware(sys, pci_ids_files(root), facts.inventory);
  // Of the node as it is: the ways of the plan have configurations of their own.
  facts.checks = check_node({.sys = sys, .inventory = facts.inventory, .kernel = is_live(root) ? own : sys});
  return facts;
}

int answer_config(const Json& config) {
  if (config.is_null())
    return fail(kFailed, Error{Errc::not_found, 0, "no RDMA device for pods; vfrail plan shows why",
                               ErrorId::not_selected});
  return answer(well_formed(config.pretty()) + "\n");
}

// With the rest of a name, at most 63 characters (the rule for resources).
bool is_name(const std::string& name) {
  constexpr size_t kMost = 55;
  return name.size() <= kMost && std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-';
         });
}

int plan_nodes(const PlanOptions& options, std::vector<PlanFacts>& nodes) {
  const ClusterPlan made = make_cluster_plan(nodes);
  if (options.output == PlanOutput::config) return answer_config(made.config);
  return answer(options.output == PlanOutput::json ? well_formed(cluster_plan_json(made).pretty()) + "\n"
                                                   : render_cluster_plan(made, options.roots));
}

}  // namespace

int plan(const PlanOptions& options) {
  if (!is_name(options.name))
    return fail(kWrongConfig,
                Error{Errc::invalid, 0,
                      "--name " + options.name +
                          " is not the name of a resource: letters, digits, _ and -, at most 55",
                      ErrorId::option_invalid});
  std::optional<Config> config;
  if (!options.config_file.empty()) {
    auto loaded = load_config({.file = options.config_file, .default_prefix = options.resource_prefix});
    if (!loaded) return fail(kWrongConfig, loaded.error());
    config = *std::move(loaded);
  }
  std::vector<PlanFacts> nodes;
  for (const std::string& root : options.roots.empty() ? std::vector{default_root()} : options.roots) {
    auto facts = read_node(root);
    if (!facts) return fail(kFailed, facts.error());
    facts->name = options.name;
    if (!options.roots.empty()) facts->roots = {root};
    nodes.push_back(*std::move(facts));
  }
  if (nodes.size() > 1) return plan_nodes(options, nodes);
  if (config) {
    nodes[0].config_file = shown_file(options.config_file);
    nodes[0].config = *std::move(config);
  }
  const Plan made = make_plan(nodes[0]);
  if (options.output == PlanOutput::config) return answer_config(made.config);
  return answer(options.output == PlanOutput::json ? well_formed(plan_json(made).pretty()) + "\n"
                                                   : render_plan(made, find_terminal().width));
}

}  // namespace vfrail::plugin
