// Daemon: the owner thread of `vfrail serve`. Waits in one poll(2) for everything that can happen, reads the
// node when it may have changed, and drives the publishers. What is advertised is decided by Advertised.
#pragma once

#include "common/log.h"
#include "common/node/attachments.h"
#include "common/result.h"
#include "plugin/device/advertise/advertised.h"
#include "plugin/device/config/formats/source.h"
#include "plugin/observe/events/event_throttle.h"
#include "plugin/observe/events/kernel_events.h"
#include "plugin/observe/status/counters.h"
#include "plugin/observe/status/remarks.h"
#include "plugin/observe/status/status.h"
#include "plugin/publish/publishers.h"
#include "plugin/service/sweep_run.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

class Inbox;

class Daemon {
 public:
  using Time = Advertised::Time;

  struct Options {
    std::vector<Publisher*> publishers;  // outlive the daemon
    Advertised::Times times = {};
    // Between two scans of the whole node if the kernel's events do not cover all that a scan finds; and from
    // a scan after an event, which reads only what that is about, to the next whole one at most, so that a
    // storm does not postpone it. The configuration's own value has precedence.
    std::chrono::milliseconds rescan_interval{60'000};
    // Between two scans if they do.
    std::chrono::milliseconds quiet_interval{600'000};
    bool own_netns_is_host = false;  // of this process
    // Where vfrail-cni has its records; empty: unknown.
    std::string cni_state_dir = {};
    // The CNI executable, to run `sweep` with when attachments are orphaned; empty: they are only reported.
    std::string sweep_program = {};
    // The result of that configuration for the present node, of which at least that is read again. Runs on
    // the owner thread.
    std::function<Result<Pools>(const Config&, const Changed&)> read_pools;
    // Called when kubelet has answered which devices containers have, those of units included; `there`: the
    // ids of all devices that the node has, null if the node was read after kubelet was asked. Returns what
    // there is to say about the CDI specs. Runs on the owner thread.
    using CareForSpecs =
        std::function<std::vector<Warning>(const DevicesInUse&, const std::set<std::string>* there)>;
    CareForSpecs care_for_specs = {};
    // The same, when it is also known which devices vfrail-cni's records name. `asked`: when kubelet was.
    // Returns when it has to be asked again.
    using CareForFreed =
        std::function<std::optional<Time>(const DevicesInUse&, const AttachedDevices&, Time asked)>;
    CareForFreed care_for_freed = {};
    ConfigSource& config;            // outlives the daemon, which alone uses it from now on
    KernelEvents* events = nullptr;  // outlives the daemon; null for a tree that is not this machine's
    // Called when it is to stop, before anything is closed: from here on a library can hang.
    std::function<void()> on_stop = [] {};
    int signal_fd = -1;  // signalfd(2): TERM and INT stop, HUP scans again; -1: no signals
    // Outlive the daemon; null: no monitoring.
    Counters* counters = nullptr;
    LiveStatus* status = nullptr;
  };

  Daemon(Options options, Log& log);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  // Until a signal or stop(). An error only if it cannot start; later failures are retried.
  Result<> run();
  // From any thread.
  void stop();
  void rescan();

 private:
  struct Ready {
    bool signal = false;
    bool publisher = false;
    bool kernel = false;
    bool config = false;
    bool sweep = false;
  };

  // Does everything that is due; returns when something is due next, if nothing happens.
  Time work();
  Ready wait(Time until) const;
  void read_events();
  void read_config_events();
  void reload();
  // Of the node what has changed, and what every scan reads.
  void scan_node(const Changed& changed);
  // What is to be read now; no value: nothing.
  std::optional<Changed> due(Time now) const;
  void print_failure(const std::optional<Advertised::Failure>& before) const;
  // Takes kubelet's answer, if it is there.
  void take_answer(Time now);
  // Reports orphaned attachments, and has them swept. After an answer that was asked for then.
  void find_orphans(Time asked, Time now);
  void sweep();
  void finish_sweep();
  Time next_whole_scan(Time now) const;
  Time latest_whole_scan(Time now) const;
  void remark(const Remark& remark);
  // The entries of the configuration that are not served.
  void report_config();
  void publish_status() const;
  // False when it is time to stop.
  bool read_signals();
  bool read_inbox();

  const Options options_;
  Log& log_;
  std::shared_ptr<Inbox> inbox_;
  Publishers publishers_;
  Advertised advertised_;
  EventThrottle kernel_;
  Changed changed_;              // by events since the last scan
  bool answer_decides_ = false;  // kubelet's answer alone is why to scan: no device has changed
  EventThrottle config_;
  std::optional<SweepRun> sweep_;
  Remarks remarks_;
  std::string kubelet_complaint_;
  std::set<std::string>
      there_;         // ids of the devices that the node had at the last scan, for care_for_specs()
  Time rescan_at_{};  // the whole node, periodically or at once
  Time reload_at_{};  // when to read the configuration without an event
};

}  // namespace vfrail::plugin
