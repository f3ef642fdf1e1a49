#include "plugin/admin/provision/provision_report.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/admin/report/report.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

constexpr PfOutcome kWorstFirst[] = {PfOutcome::failed, PfOutcome::needs_reboot, PfOutcome::refused,
                                     PfOutcome::changed, PfOutcome::unchanged};
// Of a PF with 64 VFs each can fail for the same reason.
constexpr size_t kMostFailures = 4;

PfOutcome worse(PfOutcome a, PfOutcome b) {
  for (const PfOutcome one : kWorstFirst) {
    if (a == one || b == one) return one;
  }
  return a;
}

// What is printed of a PF's obstacles and failures.
struct PfReason {
  PfOutcome outcome;
  std::string text;
  ErrorId id;
};

std::vector<PfReason> reasons_of(const ProvisionReport& report, size_t pf) {
  std::vector<PfReason> out;
  for (const Obstacle& one : report.plan.pfs[pf].obstacles) out.push_back({one.outcome, one.text, one.id});
  if (pf >= report.results.size()) return out;
  const auto& failures = report.results[pf].failures;
  for (size_t i = 0; i < std::min(failures.size(), kMostFailures); ++i)
    out.push_back({PfOutcome::failed, failures[i].text, failures[i].id()});
  if (failures.size() > kMostFailures)
    out.push_back({PfOutcome::failed,
                   "and " + std::to_string(failures.size() - kMostFailures) + " failures more",
                   ErrorId::provision_failed});
  return out;
}

const std::vector<ProvisionStep>& steps_of(const ProvisionReport& report, size_t pf) {
  return report.dry_run ? report.plan.pfs[pf].steps : report.results[pf].done;
}

std::string last_line(const ProvisionReport& report) {
  size_t writes = 0;
  for (size_t i = 0; i < report.plan.pfs.size(); ++i) {
    const auto& steps = steps_of(report, i);
    writes += static_cast<size_t>(std::count_if(steps.begin(), steps.end(), is_write));
  }
  const std::string count = counted(writes, "write");
  const char* when = report.dry_run ? " with --dry-run, none of which is made" : "";
  switch (outcome_of(report)) {
    case PfOutcome::unchanged:
      return "nothing to do";
    case PfOutcome::changed:
      return "done: " + count + when;
    case PfOutcome::refused:
      return "refused in part or wholly: " + count + when;
    case PfOutcome::needs_reboot:
      return "a setting of the firmware and a reboot are needed: " + count + when;
    case PfOutcome::failed:
      return "failed in part or wholly: " + count + when;
  }
  return "";
}

Json pf_json(const ProvisionReport& report, size_t pf) {
  const PfPlan& plan = report.plan.pfs[pf];
  Json steps = Json::array();
  for (const ProvisionStep& step : steps_of(report, pf)) steps.push(step_text(plan, step));
  Json reasons = Json::array();
  for (const PfReason& one : reasons_of(report, pf))
    reasons.push(Json::object()
                     .set("outcome", outcome_name(one.outcome))
                     .set("text", one.text)
                     .set("id", id_text(one.id)));
  return Json::object()
      .set("address", plan.pf.text())
      .set("interface", plan.name)
      .set("entry", plan.entry)
      .set("outcome", outcome_name(outcome_of(report, pf)))
      .set("steps", std::move(steps))
      .set("reasons", std::move(reasons));
}

}  // namespace

const char* outcome_name(PfOutcome outcome) {
  switch (outcome) {
    case PfOutcome::unchanged:
      return "unchanged";
    case PfOutcome::changed:
      return "changed";
    case PfOutcome::refused:
      return "refused";
    case PfOutcome::needs_reboot:
      return "needs-reboot";
    case PfOutcome::failed:
      return "failed";
  }
  return "?";
}

PfOutcome outcome_of(const ProvisionReport& report, size_t pf) {
  PfOutcome out = steps_of(report, pf).empty() ? PfOutcome::unchanged : PfOutcome::changed;
  for (const PfReason& one : reasons_of(report, pf)) out = worse(out, one.outcome);
  return out;
}

PfOutcome outcome_of(const ProvisionReport& report) {
  PfOutcome out = PfOutcome::unchanged;
  for (size_t i = 0; i < report.plan.pfs.size(); ++i) out = worse(out, outcome_of(report, i));
  return out;
}

std::string provision_text(const ProvisionReport& report) {
  std::string out;
  for (size_t i = 0; i < report.plan.pfs.size(); ++i) {
    const PfPlan& plan = report.plan.pfs[i];
    out += plan.pf.text() + " (" + (plan.name.empty() ? "" : plan.name + ", ") + plan.entry +
           "): " + outcome_name(outcome_of(report, i)) + "\n";
    for (const ProvisionStep& step : steps_of(report, i)) out += "  " + step_text(plan, step) + "\n";
    for (const PfReason& one : reasons_of(report, i))
      out += std::string("  ") + outcome_name(one.outcome) + ": " + text_with_id(one.text, one.id) + "\n";
  }
  for (const Warning& warning : report.plan.warnings) out += "warning: " + warning.line() + "\n";
  return out + last_line(report) + "\n";
}

Json provision_json(const ProvisionReport& report) {
  Json pfs = Json::array();
  for (size_t i = 0; i < report.plan.pfs.size(); ++i) pfs.push(pf_json(report, i));
  return Json::object()
      .set("schema_version", kSchemaVersion)
      .set("outcome", outcome_name(outcome_of(report)))
      .set("dry_run", report.dry_run)
      .set("pfs", std::move(pfs))
      .set("warnings", Json(lines_of(report.plan.warnings)));
}

}  // namespace vfrail::plugin
