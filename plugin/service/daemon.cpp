#include "plugin/service/daemon.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/device/provisioning/progress.h"
#include "plugin/service/inbox.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace vfrail::plugin {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// Kubelet gives a terminating pod 30 s; the daemon stops within one.
constexpr milliseconds kStopPatience{300};
constexpr std::chrono::minutes kReloadInterval{1};

// Resources of `here` that `other` does not have.
std::vector<std::string> names_missing_in(const Config& other, const Config& here) {
  std::vector<std::string> out;
  for (const ResourceConfig& one : here.resources) {
    const auto same = [&](const ResourceConfig& candidate) { return candidate.resource() == one.resource(); };
    if (std::none_of(other.resources.begin(), other.resources.end(), same)) out.push_back(one.resource());
  }
  return out;
}

// A second later, because the other clock is read in whole ones.
Daemon::Time steady_time(std::optional<std::chrono::seconds> boot, Daemon::Time now) {
  return boot ? now + (*boot - boot_time()) + std::chrono::seconds{1} : Daemon::Time::max();
}

std::string describe_owner(const Attachments& attachments, const AttachmentName& owner) {
  const auto record = attachments.load(owner);
  if (!record) return record.error().text;
  return *record ? attachment_text(**record) : owner.ifname + " of container " + owner.container_id;
}

}  // namespace

Daemon::Daemon(Options options, Log& log)
    : options_(std::move(options)),
      log_(log),
      inbox_(std::make_shared<Inbox>()),
      publishers_(options_.publishers),
      advertised_(options_.times, steady_clock::now()) {}

Daemon::~Daemon() = default;

void Daemon::stop() {
  inbox_->put([](Inbox::Content& content) { content.stop = true; });
}

void Daemon::rescan() {
  inbox_->put([](Inbox::Content& content) { content.rescan = true; });
}

Result<> Daemon::run() {
  if (inbox_->fd() < 0) return Error::from_errno(EMFILE, "make an eventfd");
  // The eventfd alone: the loop turns.
  const auto wake = [inbox = inbox_] { inbox->put([](Inbox::Content&) {}); };
  TRY(publishers_.start(wake));
  log_.info("started");
  if (options_.status != nullptr) options_.status->connect(wake);
  report_config();
  for (bool running = true; running;) {
    const Time until = work();
    publish_status();
    const Ready ready = wait(until);
    if (ready.publisher) publishers_.read();
    if (ready.kernel) read_events();
    if (ready.config) read_config_events();
    if (ready.sweep) finish_sweep();
    running = read_inbox() && (!ready.signal || read_signals());
  }
  options_.on_stop();
  if (options_.status != nullptr) options_.status->connect({});
  publishers_.close(kStopPatience);
  log_.info("stopped");
  return {};
}

Daemon::Time Daemon::work() {
  Time now = steady_clock::now();
  take_answer(now);
  // Events that came while the sockets were not read: if the burst goes on, the scan waits for its end, up to
  // a limit.
  if (kernel_.due(now)) read_events();
  // Periodically, too: inotify(7) can drop events, and a file on a network file system raises none.
  if (config_.due(now) || now >= std::min(rescan_at_, reload_at_)) reload();
  if (const auto changed = due(now)) scan_node(*changed);
  if (publishers_.needs_in_use(now)) advertised_.ask_by(now);
  if (now >= advertised_.ask_at()) {
    advertised_.asked(now);
    publishers_.ask_in_use(now);
  }
  now = steady_clock::now();
  return std::min({publishers_.run_due(now), rescan_at_, advertised_.read_at(), advertised_.ask_at(),
                   reload_at_, kernel_.next(now), config_.next(now)});
}

// What is not yet settled is read as a whole: what it waits for can be without an event.
std::optional<Changed> Daemon::due(Time now) const {
  if (now >= rescan_at_ || (now >= advertised_.read_at() && !answer_decides_)) return Changed::all();
  return now >= advertised_.read_at() || kernel_.due(now) ? std::optional(changed_) : std::nullopt;
}

// Sockets that are not read now are left out: their events wait there without waking anybody.
Daemon::Ready Daemon::wait(Time until) const {
  const Time now = steady_clock::now();
  std::vector<pollfd> fds{{options_.signal_fd, POLLIN, 0},
                          {inbox_->fd(), POLLIN, 0},
                          {config_.listens(now) ? options_.config.fd() : -1, POLLIN, 0},
                          {sweep_ ? sweep_->fd() : -1, POLLIN, 0}};
  const auto add = [&](const std::vector<int>& more) {
    const size_t first = fds.size();
    for (const int fd : more) fds.push_back({fd, POLLIN, 0});
    return first;
  };
  const size_t publishers = add(publishers_.fds());
  const size_t events =
      add(options_.events != nullptr && kernel_.listens(now) ? options_.events->fds() : std::vector<int>());
  const auto left = std::chrono::ceil<milliseconds>(until - now).count();
  if (::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000))) <= 0)
    return {};  // time, or EINTR
  const auto any = [&](size_t from, size_t to) {
    return std::any_of(fds.data() + from, fds.data() + to, [](const pollfd& fd) { return fd.revents != 0; });
  };
  return {.signal = fds[0].revents != 0,
          .publisher = any(publishers, events),
          .kernel = any(events, fds.size()),
          .config = fds[2].revents != 0,
          .sweep = fds[3].revents != 0};
}

void Daemon::read_events() {
  if (options_.events == nullptr) return;
  const auto event = options_.events->read();
  if (event) log_.debug("kernel event", {{"event", event->words}});
  if (event) changed_.add(event->changed);
  kernel_.note_event(steady_clock::now(), event.has_value());
}

void Daemon::read_config_events() {
  options_.config.drain();
  config_.note_event(steady_clock::now(), true);
}

void Daemon::reload() {
  config_.scanned(steady_clock::now());
  reload_at_ = steady_clock::now() + kReloadInterval;
  const Config before = options_.config.now();
  const auto outcome = options_.config.reload(log_);
  if (outcome == ConfigSource::Reload::same) return;
  const bool changed = outcome == ConfigSource::Reload::changed;
  if (options_.counters != nullptr)
    options_.counters->config_reloaded(changed ? Outcome::ok : Outcome::failed);
  if (!changed) return;
  const Config& now = options_.config.now();
  log_.info("the configuration changed", {{"resources", std::to_string(now.resources.size())},
                                          {"added", first_few(names_missing_in(before, now))},
                                          {"removed", first_few(names_missing_in(now, before))}});
  report_config();
  rescan_at_ = {};
  advertised_.lists_changed({});  // a container can have a device of a resource that has another name now
}

void Daemon::report_config() {
  for (const std::string& note : options_.config.now().notes) log_.info("configuration", {{"note", note}});
  for (const SkippedEntry& entry : options_.config.now().skipped)
    log_.error("a resource is not served, its entry in the configuration is faulty; the others are served",
               {{"reason", entry.reason}, {"resource", entry.resource}, {"id", id_text(entry.id)}});
  remark({"configuration", options_.config.now().warnings});
}

void Daemon::scan_node(const Changed& changed) {
  if (options_.events != nullptr) options_.events->open_missing();
  const auto began = Counters::start();
  auto pools = options_.read_pools(options_.config.now(), changed);
  const bool whole = pools && pools->unread.empty();
  if (options_.counters != nullptr) options_.counters->scanned(whole ? Outcome::ok : Outcome::failed, began);
  const Time now = steady_clock::now();
  kernel_.scanned(now);
  const auto before = advertised_.failure();
  const auto ports = pools ? pools->port_devices : std::set<std::string>();
  const Time again_at = pools ? steady_time(pools->again_at, now) : Time::max();
  auto there = pools && options_.care_for_specs ? ids_of_all(*pools) : std::set<std::string>();
  const bool is_new = advertised_.read(std::move(pools), now);
  rescan_at_ = changed.everything ? next_whole_scan(now) : std::min(rescan_at_, latest_whole_scan(now));
  rescan_at_ = std::min(rescan_at_, again_at);
  changed_ = {};
  answer_decides_ = false;
  print_failure(before);
  if (!is_new) return;
  there_ = std::move(there);
  for (const Remark& one : advertised_.remarks()) remark(one);
  if (options_.events != nullptr) options_.events->follow_ports(ports);
  if (publishers_.follow(advertised_.pools(), now)) advertised_.lists_changed(now);
}

// The lists stay unchanged: a failed scan says nothing about the node.
void Daemon::print_failure(const std::optional<Advertised::Failure>& before) const {
  const auto& now = advertised_.failure();
  if (before && !now) log_.info("the node's devices can be read again");
  if (!now || now == before) return;
  log_.error(
      "the node's devices cannot be read; what was read last stays advertised",
      {{"reason", now->reason},
       {"id", id_text(now->id)},
       {"retry_seconds",
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(options_.times.retry).count())}});
}

void Daemon::take_answer(Time now) {
  auto answer = publishers_.take_answer();
  if (!answer) return;
  // Whatever else there is to read is due later.
  const bool was_due = now >= advertised_.read_at() && !answer_decides_;
  if (!answer->in_use) {
    advertised_.not_answered(now);
    answer_decides_ = !was_due && now >= advertised_.read_at();
    const Error& error = answer->in_use.error();
    if (error.text != kubelet_complaint_)
      log_.info("pod-resources API unavailable",
                {{"reason", error.text}, {"id", id_text(ErrorId::pod_resources)}});
    kubelet_complaint_ = error.text;
    return;
  }
  kubelet_complaint_.clear();
  publishers_.complete(*answer->in_use);
  advertised_.answered(*std::move(answer->in_use), answer->asked, now);
  answer_decides_ = !was_due && now >= advertised_.read_at();
  if (options_.care_for_specs)
    remark({"CDI", options_.care_for_specs(advertised_.devices_in_use(),
                                           advertised_.answer_is_newer_than_list() ? &there_ : nullptr)});
  find_orphans(answer->asked, now);
}

void Daemon::find_orphans(Time asked, Time now) {
  const Attachments attachments(options_.cni_state_dir);
  auto owners =
      options_.cni_state_dir.empty() ? Result<AttachedDevices>(AttachedDevices()) : attachments.owners();
  Remark unreadable{"attachments", {}};
  if (!owners)
    unreadable.warnings.push_back(
        {"cannot read which devices are attached: " + owners.error().text, owners.error().id()});
  remark(unreadable);
  const bool knows_attached = owners.ok() && !options_.cni_state_dir.empty();
  if (knows_attached && options_.care_for_freed) {
    const auto again = options_.care_for_freed(advertised_.devices_in_use(), *owners, asked);
    if (again) advertised_.ask_by(*again);
  }
  // Devices that are in another namespace are orphaned whether or not there are records.
  const bool more = advertised_.find_orphans(
      owners ? std::optional(*std::move(owners)) : std::optional<AttachedDevices>(), now);
  Remark orphaned{"orphaned", {}};
  for (const auto& [id, what] : advertised_.orphans()) {
    const auto owner = advertised_.attached().find(id);
    orphaned.warnings.push_back(describe_orphan(
        id, what, owner == advertised_.attached().end() ? "" : describe_owner(attachments, owner->second)));
  }
  remark(orphaned);
  // A sweep would leave alone again what it has left alone.
  if (more) sweep();
}

void Daemon::sweep() {
  if (options_.sweep_program.empty() || sweep_) return;
  auto run = SweepRun::start(options_.sweep_program);
  if (!run)
    return remark(
        {"sweep", {{"cannot release orphaned attachments: " + run.error().text, run.error().id()}}});
  remark({"sweep", {}});
  sweep_.emplace(*std::move(run));
}

void Daemon::finish_sweep() {
  const SweepRun::Outcome outcome = sweep_->finish();
  sweep_.reset();
  if (outcome.exit_code == 0) {
    log_.info("orphaned attachments were released", {{"output", outcome.output}});
  } else {
    log_.warning("orphaned attachments could not be released",
                 {{"exit_code", std::to_string(outcome.exit_code)},
                  {"output", outcome.output},
                  {"id", id_text(ErrorId::orphaned_attachment)}});
  }
}

Daemon::Time Daemon::next_whole_scan(Time now) const {
  if (const auto seconds = options_.config.now().rescan_seconds)
    return *seconds == 0 ? Time::max() : now + std::chrono::seconds{*seconds};
  const bool covered = options_.events != nullptr &&
                       options_.events->covers_all(options_.own_netns_is_host) &&
                       (!advertised_.rest().infiniband_ports || options_.events->covers_ports());
  return now + (covered ? options_.quiet_interval : options_.rescan_interval);
}

Daemon::Time Daemon::latest_whole_scan(Time now) const {
  const auto seconds = options_.config.now().rescan_seconds.value_or(0);
  return now + (seconds == 0 ? options_.rescan_interval : std::chrono::seconds{seconds});
}

void Daemon::remark(const Remark& remark) {
  remarks_.set(remark.topic, remark.warnings, steady_clock::now(), remark.level, log_);
}

// Each turn of the loop, so it is also the heartbeat.
void Daemon::publish_status() const {
  if (options_.status == nullptr) return;
  const auto& failure = advertised_.failure();
  NodeStatus now{.scanned = advertised_.has_list(),
                 .scan_failure = failure ? failure->reason : std::string(),
                 .resources = publishers_.status(),
                 .left_out = advertised_.rest().left_out,
                 .unread = advertised_.rest().unread,
                 .skipped = options_.config.now().skipped};
  for (const auto& entry : advertised_.orphans()) now.orphans.push_back(entry.first);
  publishers_.describe(now);
  options_.status->publish(std::move(now));
  options_.status->answer();
}

bool Daemon::read_signals() {
  signalfd_siginfo signal{};
  while (::read(options_.signal_fd, &signal, sizeof signal) == sizeof signal) {
    const int number = static_cast<int>(signal.ssi_signo);
    if (number == SIGHUP) {
      log_.info("reloading the configuration and rescanning the devices");
      reload();
      rescan_at_ = {};
      continue;
    }
    log_.info("stopping", {{"signal", sigabbrev_np(number)}});
    return false;
  }
  return true;
}

bool Daemon::read_inbox() {
  const Inbox::Content content = inbox_->take();
  if (content.rescan) rescan_at_ = {};
  return !content.stop;
}

}  // namespace vfrail::plugin
