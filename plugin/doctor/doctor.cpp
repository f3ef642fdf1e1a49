#include "plugin/doctor/doctor.h"

#include "common/escape.h"
#include "common/text.h"
#include "plugin/report/exit.h"
#include "plugin/report/report.h"
#include "plugin/report/scan_root.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <string_view>

namespace vfrail {

namespace {

const char* word_of(Finding finding) {
  switch (finding) {
    case Finding::good:
      return "ok";
    case Finding::unknown:
      return "unknown";
    case Finding::note:
      return "note";
    case Finding::advice:
      return "advice";
    case Finding::fault:
      break;
  }
  return "fault";
}

CheckResults run(const NodeCheck& check, const CheckedNode& node) {
  auto results = check.run(node);
  if (!results) return {{Finding::unknown, results.error().text}};
  if (results->empty()) return {{Finding::good, check.holds}};
  return *std::move(results);
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string count_findings(const std::vector<CheckReport>& reports) {
  std::map<Finding, size_t, std::greater<>> counts;
  for (const CheckReport& report : reports) {
    for (const CheckResult& result : report.results) ++counts[result.finding];
  }
  std::vector<std::string> out;
  for (const auto& [finding, count] : counts) out.push_back(std::to_string(count) + " " + word_of(finding));
  return joined(out);
}

}  // namespace

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
  for (const NodeCheck& check : node_checks()) out.push_back({check, run(check, node)});
  return out;
}

std::string render_checks(const std::vector<CheckReport>& reports) {
  std::string out;
  for (const auto& [check, results] : reports) {
    for (const CheckResult& result : results) {
      out += padded(word_of(result.finding), 8) + check.id + " " + padded(check.name, 19) + " " +
             escaped(result.text) + "\n";
      if (!result.remedy.empty()) out += "        remedy: " + escaped(result.remedy) + "\n";
    }
  }
  return out + count_findings(reports) + "\n";
}

Json checks_json(const std::vector<CheckReport>& reports) {
  Json list = Json::array();
  for (const auto& [check, results] : reports) {
    for (const CheckResult& result : results) {
      list.push(Json::object()
                    .set("id", check.id)
                    .set("name", check.name)
                    .set("finding", word_of(result.finding))
                    .set("text", result.text)
                    .set("remedy", result.remedy));
    }
  }
  return Json::object().set("schema_version", kSchemaVersion).set("checks", std::move(list));
}

int doctor(const DoctorOptions& options) {
  const auto inventory = scan_root(options.root);
  if (!inventory) {
    return fail(kFailed, inventory.error());
  }
  const SysRoot sys(options.root);
  const SysRoot own;
  const auto reports = check_node({sys, *inventory, is_live(options.root) ? own : sys});
  std::cout << (options.json ? well_formed(checks_json(reports).pretty()) + "\n" : render_checks(reports));
  std::cout.flush();
  const bool failed = std::any_of(reports.begin(), reports.end(), [&](const CheckReport& report) {
    return std::any_of(report.results.begin(), report.results.end(),
                       [&](const CheckResult& result) { return result.finding >= options.fail_on; });
  });
  return failed || !std::cout ? 1 : 0;
}

}  // namespace vfrail
