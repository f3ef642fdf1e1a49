#include "plugin/daemon.h"

#include "common/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace vfrail {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// Kubelet gives a terminating pod 30 s; we want to be gone within one.
constexpr milliseconds kStopPatience{300};
constexpr size_t kMostWarningsTold = 1000;

}  // namespace

// What other threads tell the owner thread. Shared with callbacks, which can outlive the daemon by a moment.
class Inbox {
 public:
  struct Verdict {
    std::string resource;
    uint64_t attempt = 0;
    RegistrationVerdict verdict;
  };
  struct Content {
    std::vector<Verdict> verdicts;
    bool stop = false;
    bool rescan = false;
  };

  Inbox() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int fd() const { return fd_.get(); }

  template <class Change>
  void put(Change change) {
    {
      const std::lock_guard lock(mutex_);
      change(content_);
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
  }

  Content take() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
    const std::lock_guard lock(mutex_);
    return std::exchange(content_, {});
  }

 private:
  const UniqueFd fd_;
  std::mutex mutex_;
  Content content_;
};

Daemon::Daemon(Options options, Log& log)
    : options_(std::move(options)), log_(log), inbox_(std::make_shared<Inbox>()) {}

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
  FolderWatch watch = TRY(FolderWatch::start(folder), "");
  log_.info("started",
            {{"folder", folder},
             {"registration", options_.registration == Registration::watcher ? "watcher" : "legacy"}});
  if (options_.status != nullptr) {
    // The eventfd alone: the thread turns, and that is the answer.
    options_.status->connect([inbox = inbox_] { inbox->put([](Inbox::Content&) {}); });
  }
  for (bool running = true; running;) {
    const Time now = steady_clock::now();
    if (now >= rescan_at_) look_at_node(now);
    const Time next = std::min(look_at_resources(now), rescan_at_);
    tell_status();
    const auto wait = std::chrono::ceil<milliseconds>(next - steady_clock::now()).count();
    pollfd fds[] = {{options_.signal_fd, POLLIN, 0}, {watch.fd(), POLLIN, 0}, {inbox_->fd(), POLLIN, 0}};
    const int ready = ::poll(fds, std::size(fds), static_cast<int>(std::clamp<int64_t>(wait, 0, 3'600'000)));
    if (ready <= 0) continue;  // time, or EINTR
    if (fds[1].revents != 0) watch.renew();
    running = read_inbox(steady_clock::now());
    if (running && fds[0].revents != 0) running = read_signals();
  }
  if (options_.status != nullptr) options_.status->connect({});
  close_all();
  log_.info("stopped");
  return {};
}

void Daemon::look_at_node(Time now) {
  rescan_at_ = now + options_.rescan_interval;
  const auto began = Counters::start();
  auto pools = options_.look();
  if (options_.counters != nullptr) {
    options_.counters->scanned(pools ? Outcome::ok : Outcome::failed, began);
  }
  if (!pools) {
    log_.error("cannot look at the node's devices", {{"reason", pools.error().text}});
    return;
  }
  tell_new_warnings(*pools);
  looked_ = true;
  left_out_.clear();
  for (const LeftOut& function : pools->left_out) ++left_out_[function.kind];
  for (Pool& pool : pools->pools) take(std::move(pool));
}

void Daemon::take(Pool pool) {
  const auto at = resources_.find(pool.resource());
  if (at == resources_.end()) {
    // As the peers do it: a resource without devices is not registered.
    if (!pool.devices.empty()) add_resource(std::move(pool));
    return;
  }
  const size_t before = at->second->pool()->devices.size();
  const size_t after = pool.devices.size();
  if (at->second->publish(std::move(pool))) {
    log_.info(
        "the devices changed",
        {{"resource", at->first}, {"before", std::to_string(before)}, {"devices", std::to_string(after)}});
  }
}

void Daemon::add_resource(Pool pool) {
  const std::string name = pool.resource();
  const auto path = socket_path(socket_folder(options_.kubelet_root, options_.registration),
                                pool.config.prefix, pool.config.name);
  if (!path) {
    if (told_.insert(path.error().text).second) {
      log_.error("cannot serve the resource", {{"resource", name}, {"reason", path.error().text}});
    }
    return;
  }
  Resource::Options options{
      .socket = *path,
      .registration = options_.registration,
      .kubelet_socket = kubelet_socket(options_.kubelet_root),
      .places = options_.places,
      .counters = options_.counters,
      .on_verdict = [inbox = inbox_, name](uint64_t attempt, RegistrationVerdict verdict) {
        inbox->put([&](Inbox::Content& content) {
          content.verdicts.push_back({name, attempt, std::move(verdict)});
        });
      }};
  resources_.emplace(name, std::make_unique<Resource>(std::move(pool), std::move(options), log_));
}

void Daemon::tell_new_warnings(const Pools& pools) {
  for (const std::string& warning : pools.warnings) {
    if (told_.size() < kMostWarningsTold && told_.insert(warning).second) log_.warning(warning);
  }
}

Time Daemon::look_at_resources(Time now) {
  if (options_.registration == Registration::legacy) {
    const FileIdentity kubelet = identify(kubelet_socket(options_.kubelet_root));
    if (kubelet != kubelet_ && kubelet.exists()) {
      for (auto& [name, resource] : resources_) resource->kubelet_came();
    }
    kubelet_ = kubelet;
  }
  Time next = Time::max();
  for (auto& [name, resource] : resources_) {
    next = std::min(next, resource->look(now, kubelet_.exists()).value_or(Time::max()));
  }
  return next;
}

// Each turn of the loop, so it is also the pulse.
void Daemon::tell_status() const {
  if (options_.status == nullptr) return;
  NodeStatus now{.looked = looked_, .resources = {}, .left_out = left_out_};
  for (const auto& [name, resource] : resources_) now.resources.push_back(resource->status());
  options_.status->publish(std::move(now));
  options_.status->answer();
}

bool Daemon::read_signals() {
  signalfd_siginfo signal{};
  while (::read(options_.signal_fd, &signal, sizeof signal) == sizeof signal) {
    const int number = static_cast<int>(signal.ssi_signo);
    if (number == SIGHUP) {
      log_.info("looking at the devices again; a changed configuration needs a restart");
      rescan_at_ = {};
      continue;
    }
    log_.info("stopping", {{"signal", sigabbrev_np(number)}});
    return false;
  }
  return true;
}

bool Daemon::read_inbox(Time now) {
  const Inbox::Content content = inbox_->take();
  for (const auto& [name, attempt, verdict] : content.verdicts) {
    if (const auto at = resources_.find(name); at != resources_.end())
      at->second->verdict(attempt, verdict, now);
  }
  if (content.rescan) rescan_at_ = {};
  return !content.stop;
}

// Only our own sockets go; device-info files and promises belong to pods that run on.
void Daemon::close_all() {
  const Time deadline = steady_clock::now() + kStopPatience;
  for (auto& [name, resource] : resources_) {
    resource->close(
        std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now())));
  }
  resources_.clear();
}

}  // namespace vfrail
