#include "common/errors/error_id.h"
#include "common/log.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/provision/provision_report.h"
#include "plugin/admin/provision/provision_round.h"
#include "plugin/observe/events/folder_events.h"
#include "plugin/observe/events/kernel_events.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <poll.h>
#include <sys/signalfd.h>

namespace vfrail::plugin {

namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

// What keeps devices from being allocated ends after kProvisionPatience, if it is not written anew.
constexpr seconds kTurn{60};
// A driver that is loaded again, or a pod that starts, is many events.
constexpr seconds kShortestTurn{5};

ErrorId id_of(ProgressState state) {
  if (state == ProgressState::refused) return ErrorId::provision_refused;
  if (state == ProgressState::needs_reboot) return ErrorId::provision_firmware;
  return state == ProgressState::draining ? ErrorId::provision_pending : ErrorId::provision_failed;
}

class Watch {
 public:
  Watch(const ProvisionOptions& options, const AskKubelet& ask)
      : options_(options), ask_(ask), events_(log_) {
    const size_t slash = options.config_file.rfind('/');
    if (slash != std::string::npos)
      events_.add(std::make_unique<FolderEvents>(options.config_file.substr(0, slash + 1)));
  }

  void run(int signals) {
    log_.info("started");
    do turn();
    while (wait(signals));
    log_.info("stopped");
  }

 private:
  void turn();
  void report(const ProvisionReport& report, size_t pf);
  bool wait(int signals);
  bool is_due();

  const ProvisionOptions& options_;
  const AskKubelet& ask_;
  Log log_;
  KernelEvents events_;
  bool wrote_ = false;                        // in the last turn: the next one sees what came of it
  std::map<std::string, std::string> known_;  // what was logged of a PF last
};

void Watch::turn() {
  wrote_ = false;
  const auto round = provision_round(options_, ask_);
  std::string& failure = known_[""];
  const std::string before = std::exchange(failure, round ? "" : round.error().text);
  if (!round && failure != before)
    log_.error("VFs cannot be made", {{"reason", failure}, {"id", round.error().id_text()}});
  if (!round) return;
  const ProvisionReport now{.plan = round->plan, .results = round->results};
  for (size_t i = 0; i < round->plan.pfs.size(); ++i) report(now, i);
  std::string& warned = known_["warnings"];
  const std::string warnings = joined(lines_of(round->plan.warnings), "; ");
  if (std::exchange(warned, warnings) != warnings && !warnings.empty())
    log_.warning("configuration", {{"reason", warnings}, {"id", id_text(ErrorId::config_doubtful)}});
}

// Once, and again when it is another.
void Watch::report(const ProvisionReport& report, size_t pf) {
  const PfPlan& plan = report.plan.pfs[pf];
  const auto& done = report.results[pf].done;
  const auto writes = std::count_if(done.begin(), done.end(), is_write);
  const PfOutcome outcome = outcome_of(report, pf);
  const Progress progress = progress_of(plan, report.results[pf], true);
  std::string& known = known_[plan.pf.text()];
  const std::string what = std::string(name_of(progress.state)) + ": " + progress.text;
  wrote_ = wrote_ || writes > 0;
  if (std::exchange(known, what) == what && writes == 0) return;
  const bool fine = outcome == PfOutcome::unchanged || outcome == PfOutcome::changed;
  std::vector<LogField> fields{{"pf", plan.pf.text()},
                               {"entry", plan.entry},
                               {"state", name_of(progress.state)},
                               {"writes", std::to_string(writes)}};
  if (!progress.text.empty()) fields.push_back({"reason", progress.text});
  if (!fine) fields.push_back({"id", id_text(id_of(progress.state))});
  log_.write(fine ? LogLevel::info : LogLevel::warning,
             fine ? "VFs are configured" : "VFs are not configured", fields);
}

// Whether an event is about PCI functions or the configuration. The interfaces of pods are neither.
bool Watch::is_due() {
  bool out = false;
  while (const auto event = events_.read()) {
    const Changed& changed = event->changed;
    const bool names = !changed.devices.empty() || !changed.interfaces.empty() ||
                       !changed.rdma_devices.empty() || !changed.iommu_groups.empty();
    out = out || changed.everything || !changed.devices.empty() || !names;
  }
  return out;
}

// Until there is something to do. False: it is to stop.
bool Watch::wait(int signals) {
  const auto begin = steady_clock::now();
  const auto latest = begin + (wrote_ ? kShortestTurn : kTurn);
  bool due = false;
  for (;;) {
    const auto until = due ? begin + kShortestTurn : latest;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    if (left.count() <= 0) return true;
    std::vector<pollfd> fds{{signals, POLLIN, 0}};
    events_.open_missing();
    for (const int fd : events_.fds()) fds.push_back({fd, POLLIN, 0});
    if (::poll(fds.data(), fds.size(), static_cast<int>(left.count())) <= 0) continue;
    if (fds[0].revents != 0) return false;
    due = is_due() || due;
  }
}

}  // namespace

int provision_watch(const ProvisionOptions& options, const AskKubelet& ask) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd.valid()) return fail(kFailed, Error::from_errno(errno, "make a signalfd"));
  Watch(options, ask).run(fd.get());
  return kDone;
}

}  // namespace vfrail::plugin
