#include "plugin/admin/advise/plan_command.h"

#include "common/text.h"
#include "plugin/admin/advise/render_plan.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/console/terminal.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/device/config/formats/file.h"

#include <utility>

namespace vfrail::plugin {

int plan(const PlanOptions& options) {
  PlanFacts facts;
  if (!options.config_file.empty()) {
    auto loaded = load_config({.file = options.config_file, .default_prefix = options.resource_prefix});
    if (!loaded) return fail(kWrongConfig, loaded.error());
    facts.config_file = shown_file(options.config_file);
    facts.config = *std::move(loaded);
  }
  auto inventory = scan_root(options.root);
  if (!inventory) return fail(kFailed, inventory.error());
  facts.inventory = *std::move(inventory);
  const SysRoot sys(options.root);
  const SysRoot own;
  facts.hardware = read_hardware(sys, pci_ids_files(options.root), facts.inventory);
  // Of the node as it is: the ways of the plan have configurations of their own.
  facts.checks =
      check_node({.sys = sys, .inventory = facts.inventory, .kernel = is_live(options.root) ? own : sys});
  const Plan made = make_plan(facts);
  return answer(options.json ? well_formed(plan_json(made).pretty()) + "\n"
                             : render_plan(made, find_terminal().width));
}

}  // namespace vfrail::plugin
