#include "plugin/admin/provision/provision.h"

#include "common/text.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/provision/provision_report.h"
#include "plugin/admin/provision/provision_round.h"

namespace vfrail::plugin {

namespace {

int exit_code(PfOutcome outcome) {
  switch (outcome) {
    case PfOutcome::unchanged:
    case PfOutcome::changed:
      return kDone;
    case PfOutcome::refused:
      return static_cast<int>(ProvisionExit::refused);
    case PfOutcome::needs_reboot:
      return static_cast<int>(ProvisionExit::needs_reboot);
    case PfOutcome::failed:
      break;
  }
  return kFailed;
}

int print(const ProvisionOptions& options, const ProvisionReport& report) {
  const int answered = answer(options.json ? well_formed(provision_json(report).pretty()) + "\n"
                                           : escaped_lines(provision_text(report)));
  return answered == kDone ? exit_code(outcome_of(report)) : answered;
}

}  // namespace

int provision(const ProvisionOptions& options, const AskKubelet& ask_kubelet) {
  if (options.watch) return provision_watch(options, ask_kubelet);
  const auto round = provision_round(options, ask_kubelet);
  if (!round) return fail(round.error().code == Errc::invalid ? kWrongConfig : kFailed, round.error());
  return print(options, {.plan = round->plan, .results = round->results, .dry_run = options.dry_run});
}

}  // namespace vfrail::plugin
