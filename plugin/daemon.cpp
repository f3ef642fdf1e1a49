#include "plugin/daemon.h"

#include "common/errors/error_id.h"
#include "common/node/attachments.h"
#include "common/text.h"
#include "plugin/allocate/cdi_folder.h"
#include "plugin/daemon_text.h"
#include "plugin/inbox.h"
#include "plugin/match/pool_change.h"
#include "plugin/match/reconcile.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
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
// After a failed scan, if nothing else triggers the next one.
constexpr std::chrono::seconds kRetry{5};
// How long the first list waits for a device that cannot be read.
constexpr std::chrono::seconds kFirstPatience{20};
constexpr std::chrono::minutes kReloadInterval{1};
// Intervals of asking kubelet which pods have what: at start, when a list changes, and periodically.
constexpr std::chrono::minutes kAskInterval{5};

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
      resources_(
          {.kubelet_root = options_.kubelet_root,
           .registration = options_.registration,
           .places = options_.places,
           .counters = options_.counters,
           .stream_patience = options_.stream_patience,
           .return_patience = options_.return_patience,
           .on_registration =
               [inbox = inbox_](const std::string& resource, uint64_t attempt, RegistrationResult result) {
                 inbox->put([&](Inbox::Content& content) {
                   content.results.push_back({resource, attempt, std::move(result)});
                 });
               },
           .on_stream_end = [inbox = inbox_] { inbox->put([](Inbox::Content&) {}); }},
          log) {}

Daemon::~Daemon() = default;

void Daemon::stop() {
  inbox_->put([](Inbox::Content& content) { content.stop = true; });
}

void Daemon::rescan() {
  inbox_->put([](Inbox::Content& content) { content.rescan = true; });
}

Result<> Daemon::run() {
  if (inbox_->fd() < 0) return Error::from_errno(EMFILE, "make an eventfd");
  const std::string folder = socket_folder(options_.kubelet_root, options_.registration);
  FolderWatch watch = TRY(FolderWatch::start(folder));
  log_.info("started",
            {{"folder", folder},
             {"registration", options_.registration == Registration::watcher ? "watcher" : "legacy"}});
  if (options_.status != nullptr) {
    // The eventfd alone: the loop turns, which is the heartbeat's answer.
    options_.status->connect([inbox = inbox_] { inbox->put([](Inbox::Content&) {}); });
  }
  report_config();
  remark("configuration", options_.config.now().warnings);
  patient_until_ = steady_clock::now() + kFirstPatience;
  for (bool running = true; running;) {
    const Time until = work();
    publish_status();
    const Ready ready = wait(until, watch.fd());
    if (ready.kubelet) watch.renew();
    if (ready.kernel) read_events();
    if (ready.config) read_config_events();
    if (ready.sweep) finish_sweep();
    running = read_inbox(steady_clock::now()) && (!ready.signal || read_signals());
  }
  options_.on_stop();
  if (options_.status != nullptr) options_.status->connect({});
  resources_.close(kStopPatience);
  log_.info("stopped");
  return {};
}

Time Daemon::work() {
  Time now = steady_clock::now();
  // Events that came while the sockets were not read: if the burst goes on, the scan waits for its end, up to
  // a limit.
  if (kernel_.due(now)) read_events();
  // Periodically, too: inotify(7) can drop events, and a file on a network file system raises none.
  if (config_.due(now) || now >= std::min(rescan_at_, reload_at_)) reload();
  if (now >= std::min(rescan_at_, retry_at_) || kernel_.due(now)) scan_node();
  if (now >= ask_at_) ask_kubelet(now);
  now = steady_clock::now();
  return std::min({resources_.reconcile(now), rescan_at_, retry_at_, reload_at_, ask_at_, kernel_.next(now),
                   config_.next(now)});
}

// Sockets that are not read now are left out: their events wait there without waking anybody.
Daemon::Ready Daemon::wait(Time until, int kubelet_watch) const {
  const Time now = steady_clock::now();
  std::vector<pollfd> fds{{options_.signal_fd, POLLIN, 0},
                          {kubelet_watch, POLLIN, 0},
                          {inbox_->fd(), POLLIN, 0},
                          {config_.listens(now) ? options_.config.fd() : -1, POLLIN, 0},
                          {sweep_ ? sweep_->fd() : -1, POLLIN, 0}};
  const size_t others = fds.size();
  if (options_.events != nullptr && kernel_.listens(now)) {
    for (const int fd : options_.events->fds()) fds.push_back({fd, POLLIN, 0});
  }
  const auto left = std::chrono::ceil<milliseconds>(until - now).count();
  if (::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000))) <= 0)
    return {};  // time, or EINTR
  return {.signal = fds[0].revents != 0,
          .kubelet = fds[1].revents != 0,
          .kernel = std::any_of(fds.begin() + static_cast<std::ptrdiff_t>(others), fds.end(),
                                [](const pollfd& fd) { return fd.revents != 0; }),
          .config = fds[3].revents != 0,
          .sweep = fds[4].revents != 0};
}

void Daemon::read_events() {
  if (options_.events == nullptr) return;
  const auto what = options_.events->read();
  if (what) log_.debug("kernel event", {{"event", *what}});
  kernel_.note_event(steady_clock::now(), what.has_value());
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
  remark("configuration", now.warnings);
  rescan_at_ = {};
  ask_at_ = {};  // a container can have a device of a resource that has another name now
}

void Daemon::report_config() const {
  for (const std::string& note : options_.config.now().notes) log_.info("configuration", {{"note", note}});
  for (const SkippedEntry& entry : options_.config.now().skipped)
    log_.error("a resource is not served, its entry in the configuration is faulty; the others are served",
               {{"reason", entry.reason}, {"id", id_text(entry.id)}});
}

void Daemon::scan_node() {
  if (options_.events != nullptr) options_.events->open_missing();
  const auto began = Counters::start();
  auto pools = options_.read_pools(options_.config.now());
  const bool whole = pools && pools->unread.empty();
  if (options_.counters != nullptr) options_.counters->scanned(whole ? Outcome::ok : Outcome::failed, began);
  const Time now = steady_clock::now();
  kernel_.scanned(now);
  rescan_at_ = next_rescan();
  if (!pools) {
    note_failed_scan(pools.error().text, pools.error().specific.value_or(ErrorId::node_not_read), now);
    return;
  }
  if (!whole) note_failed_scan(unread_text(pools->unread), ErrorId::device_not_read, now);
  // The first list is whole, or as whole as it will be.
  if (!whole && !scanned_at_ && now < patient_until_) return;
  // Whose a device is that a pod may have, kubelet alone knows at start: its own selectors may not see it.
  if (!scanned_at_ && !departures_.has_answer() && is_any_partly_away(*pools)) return;
  if (whole) note_complete_scan();
  note_scan(*pools, now);
  remark("node", pools->warnings);
  remark("host use", find_refusals(*pools), LogLevel::info);
  if (options_.events != nullptr) options_.events->follow_ports(pools->port_devices);
  departures_.hold(*pools, published_, in_use_ ? &*in_use_ : nullptr, now);
  if (departures_.wait_for_kubelet()) ask_at_ = now;
  if (const auto next = departures_.next()) rescan_at_ = std::min(rescan_at_, *next);
  if (in_use_) keep_in_use(*pools, *in_use_);
  // What is not settled yet needs another scan, even without an event.
  if (const auto settled = debounce_.settle(pools->pools, now)) rescan_at_ = std::min(rescan_at_, *settled);
  published_.assign(std::make_move_iterator(pools->pools.begin()),
                    std::make_move_iterator(pools->pools.end()));
  remark("bundles", find_incomplete(published_));
  // A device that vanished may be a pod's, and is put back then.
  if (resources_.follow(published_, now)) ask_at_ = now;
}

// The lists stay unchanged: a failed scan says nothing about the node.
void Daemon::note_failed_scan(const std::string& reason, ErrorId id, Time now) {
  retry_at_ = now + kRetry;
  if (reason == scan_failure_) return;
  scan_failure_ = reason;
  log_.error(
      "the node's devices cannot be read; what was read last stays advertised",
      {{"reason", scan_failure_}, {"id", id_text(id)}, {"retry_seconds", std::to_string(kRetry.count())}});
}

void Daemon::note_complete_scan() {
  if (!scan_failure_.empty()) log_.info("the node's devices can be read again");
  scan_failure_.clear();
  retry_at_ = Time::max();
}

void Daemon::note_scan(const Pools& pools, Time now) {
  scanned_at_ = now;
  infiniband_ports_ = pools.infiniband_ports;
  rescan_at_ = next_rescan();
  left_out_.clear();
  for (const LeftOut& function : pools.left_out) ++left_out_[function.kind];
  unread_ = pools.unread.size();
  if (options_.tidy) there_ = ids_of_all(pools);
}

void Daemon::ask_kubelet(Time now) {
  ask_at_ = now + (waits_for_containers(published_) ? options_.ask_while_waiting : kAskInterval);
  // The destructor would wait for a call that hangs: it has its own deadline.
  if (asking_) return;
  asked_at_ = now;
  // All resources: a container keeps the device of a resource that is no longer configured.
  const PodResourcesCall::Request request{.socket = pod_resources_socket(options_.kubelet_root),
                                          .resources = {}};
  asking_ = std::make_unique<PodResourcesCall>(request, [inbox = inbox_](Result<DevicesInUse> answer) {
    inbox->put([&](Inbox::Content& content) { content.in_use = std::move(answer); });
  });
}

void Daemon::take_answer(Result<DevicesInUse> answer) {
  asking_.reset();
  if (departures_.wait_for_kubelet() || !scanned_at_) rescan_at_ = {};
  if (!answer) {
    departures_.not_answered();
    // Kubelet's last answer stays: a pod does not lose its devices because kubelet restarts.
    if (answer.error().text != kubelet_complaint_)
      log_.info("pod-resources API unavailable",
                {{"reason", answer.error().text}, {"id", id_text(ErrorId::pod_resources)}});
    kubelet_complaint_ = answer.error().text;
    return;
  }
  kubelet_complaint_.clear();
  departures_.answered(asked_at_);
  const bool changed = use_changed(options_.config.now(), in_use_ ? &*in_use_ : nullptr, *answer);
  in_use_ = *std::move(answer);
  if (changed) rescan_at_ = {};
  const DevicesInUse devices = with_devices_of_units(*in_use_, published_);
  if (options_.tidy && scanned_at_ && asked_at_ >= *scanned_at_) options_.tidy(there_, devices);
  remark_unread_specs(devices);
  find_orphans(steady_clock::now());
}

void Daemon::remark_unread_specs(const DevicesInUse& devices) {
  if (options_.places.cdi_dir.empty()) return;
  const auto used = [&](const std::string& id) {
    return std::any_of(devices.resources.begin(), devices.resources.end(),
                       [&](const auto& resource) { return resource.second.contains(id); });
  };
  std::vector<std::string> remarks;
  for (const std::string& name : find_unread_specs(options_.places.cdi_dir, used))
    remarks.push_back(unread_spec_text(name));
  remark("CDI", remarks);
}

void Daemon::find_orphans(Time now) {
  const Attachments attachments(options_.cni_state_dir);
  auto owners =
      options_.cni_state_dir.empty() ? Result<AttachedDevices>(AttachedDevices()) : attachments.owners();
  // Devices that are in another namespace are orphaned whether or not there are records.
  remark("attachments",
         owners ? std::vector<std::string>()
                : std::vector{"cannot read which devices are attached: " + owners.error().text_with_id()});
  // What cannot be read now is as it was: an orphan does not become none.
  if (owners) attached_ = *std::move(owners);
  const auto found = find_orphaned(published_, *in_use_, attached_);
  std::erase_if(orphaned_, [&](const auto& one) { return !found.contains(one.first); });
  std::set<std::string> lasting;
  std::vector<std::string> remarks;
  for (const auto& [id, what] : found) {
    const Time since = orphaned_.try_emplace(id, now).first->second;
    if (now < since + options_.orphaned_after) {
      ask_at_ = std::min(ask_at_, since + options_.orphaned_after);
      continue;
    }
    lasting.insert(id);
    const auto owner = attached_.find(id);
    remarks.push_back(orphan_text(
        id + " " + what, owner == attached_.end() ? "" : describe_owner(attachments, owner->second)));
  }
  remark("orphaned", remarks);
  // A sweep would leave alone again what it has left alone.
  if (!std::includes(swept_.begin(), swept_.end(), lasting.begin(), lasting.end())) sweep();
  swept_ = std::move(lasting);
}

void Daemon::sweep() {
  if (options_.sweep_program.empty() || sweep_) return;
  auto run = SweepRun::start(options_.sweep_program);
  if (!run) return remark("sweep", {"cannot release orphaned attachments: " + run.error().text_with_id()});
  remark("sweep", {});
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

Time Daemon::next_rescan() const {
  const auto seconds = options_.config.now().rescan_seconds;
  if (!seconds) {
    const bool covered = options_.events != nullptr &&
                         options_.events->covers_all(options_.own_netns_is_host) &&
                         (!infiniband_ports_ || options_.events->covers_ports());
    return steady_clock::now() + (covered ? options_.quiet_interval : options_.rescan_interval);
  }
  return *seconds == 0 ? Time::max() : steady_clock::now() + std::chrono::seconds{*seconds};
}

void Daemon::remark(const char* topic, const std::vector<std::string>& now, LogLevel level) {
  remarks_.set(topic, now, steady_clock::now(), level, log_);
}

// Each turn of the loop, so it is also the heartbeat.
void Daemon::publish_status() const {
  if (options_.status == nullptr) return;
  options_.status->publish({.scanned = scanned_at_.has_value(),
                            .scan_failure = scan_failure_,
                            .resources = resources_.status(),
                            .left_out = left_out_,
                            .unread = unread_,
                            .orphaned = swept_.size(),
                            .skipped = options_.config.now().skipped});
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

bool Daemon::read_inbox(Time now) {
  Inbox::Content content = inbox_->take();
  for (const auto& [name, attempt, result] : content.results) resources_.result(name, attempt, result, now);
  if (content.in_use) take_answer(*std::move(content.in_use));
  if (content.rescan) rescan_at_ = {};
  return !content.stop;
}

}  // namespace vfrail::plugin
