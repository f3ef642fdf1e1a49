#include "plugin/doctor/doctor.h"

#include "common/text.h"
#include "plugin/report/exit.h"
#include "plugin/report/report.h"
#include "plugin/report/scan_root.h"

#include <algorithm>
#include <iostream>
#include <string_view>

namespace vfrail {

std::vector<NodeCheck> node_checks() {
  std::vector<NodeCheck> out;
  for (const NodeChecks* checks : {&kernel_checks(), &driver_checks(), &port_checks(), &placement_checks(),
                                   &config_space_checks(), &kubernetes_checks()})
    out.insert(out.end(), checks->begin(), checks->end());
  std::sort(out.begin(), out.end(), [](const NodeCheck& a, const NodeCheck& b) {
    return std::string_view(a.id) < std::string_view(b.id);
  });
  return out;
}

std::vector<CheckReport> check_node(const CheckedNode& node) {
  std::vector<CheckReport> out;
  for (const NodeCheck& check : node_checks()) out.push_back(run_check(check, node));
  return out;
}

Json doctor_json(const std::vector<CheckReport>& reports) {
  return Json::object().set("schema_version", kSchemaVersion).set("checks", checks_json(reports));
}

int doctor(const DoctorOptions& options) {
  const auto inventory = scan_root(options.root);
  if (!inventory) {
    return fail(kFailed, inventory.error());
  }
  const SysRoot sys(options.root);
  const SysRoot own;
  const auto reports = check_node({sys, *inventory, is_live(options.root) ? own : sys});
  std::cout << (options.json ? well_formed(doctor_json(reports).pretty()) + "\n" : render_checks(reports));
  std::cout.flush();
  return reaches(reports, options.fail_on) || !std::cout ? 1 : 0;
}

}  // namespace vfrail
