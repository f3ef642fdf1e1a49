// Daemon: the owner thread of `vfrail serve`. Scans the node, at start and after each event, and updates the
// resources. Waits in one poll(2) for signals, the kubelet folders, the kernel's events, the configuration
// file, registration results from gRPC threads and time.
#pragma once

#include "common/log.h"
#include "common/node/attachments.h"
#include "common/result.h"
#include "plugin/allocate/prepare.h"
#include "plugin/config/formats/source.h"
#include "plugin/events/event_throttle.h"
#include "plugin/events/kernel_events.h"
#include "plugin/kubelet/grpc_library.h"
#include "plugin/kubelet/kubelet.h"
#include "plugin/kubelet/pod_resources.h"
#include "plugin/kubelet/resources.h"
#include "plugin/match/debounce.h"
#include "plugin/match/departures.h"
#include "plugin/match/published_pool.h"
#include "plugin/status/counters.h"
#include "plugin/status/remarks.h"
#include "plugin/status/status.h"
#include "plugin/sweep_run.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

class Inbox;

class Daemon {
 public:
  struct Options {
    std::string kubelet_root;
    Registration registration = Registration::watcher;
    AllocatePlaces places;
    // Between two scans if the kernel's events do not cover all that a scan finds; the configuration's own
    // value has precedence.
    std::chrono::milliseconds rescan_interval{60'000};
    // The same if they do.
    std::chrono::milliseconds quiet_interval{600'000};
    bool own_netns_is_host = false;  // of this process
    std::chrono::milliseconds stream_patience{3000};
    // How long an Allocate waits for a device to return from the pod before, which was deleted by force.
    std::chrono::milliseconds return_patience{10'000};
    // Where vfrail-cni has its records; empty: unknown.
    std::string cni_state_dir = {};
    // The CNI executable, to run `sweep` with when attachments are orphaned; empty: they are only reported.
    std::string sweep_program = {};
    // A device is orphaned when it stays so for this long: a pod starts and ends in several steps.
    std::chrono::milliseconds orphaned_after{120'000};
    // How often kubelet is asked while a device is in a list only because a container has it.
    std::chrono::milliseconds ask_while_waiting{15'000};
    // The result of that configuration for the present node. Runs on the owner thread.
    std::function<Result<Pools>(const Config&)> read_pools;
    // Called when kubelet has answered a request that was sent after the last scan: the ids of all devices
    // that the node had then, and which devices containers have, those of units included. Runs on the owner
    // thread.
    using Tidy = std::function<void(const std::set<std::string>& there, const DevicesInUse&)>;
    Tidy tidy = {};
    ConfigSource& config;            // outlives the daemon, which alone uses it from now on
    KernelEvents* events = nullptr;  // likewise; null for a tree that is not this machine's
    // Called when it is to stop, before anything is closed: from here on a library can hang.
    std::function<void()> on_stop = [] {};
    int signal_fd = -1;  // signalfd(2): TERM and INT stop, HUP scans again; none in tests
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
    bool kubelet = false;
    bool kernel = false;
    bool config = false;
    bool sweep = false;
  };

  // Does everything that is due; returns when something is due next, if nothing happens.
  Time work();
  Ready wait(Time until, int kubelet_watch) const;
  void read_events();
  void read_config_events();
  void reload();
  void scan_node();
  void note_failed_scan(const std::string& reason, ErrorId id, Time now);
  void note_complete_scan();
  void note_scan(const Pools& pools, Time now);
  // Asks kubelet which container has what, without waiting.
  void ask_kubelet(Time now);
  void take_answer(Result<DevicesInUse> answer);
  // Of devices in use: those that probably no runtime has put into a container.
  void remark_unread_specs(const DevicesInUse& devices);
  // Reports orphaned attachments, and has them swept.
  void find_orphans(Time now);
  void sweep();
  void finish_sweep();
  Time next_rescan() const;
  void remark(const char* topic, const std::vector<std::string>& now, LogLevel level = LogLevel::warning);
  // The entries of the configuration that are not served.
  void report_config() const;
  void publish_status() const;
  // False when it is time to stop.
  bool read_signals();
  bool read_inbox(Time now);

  const GrpcLibrary grpc_;
  const Options options_;
  Log& log_;
  std::shared_ptr<Inbox> inbox_;
  Resources resources_;
  std::vector<PublishedPool> published_;  // the pools of the last scan, for every publisher
  EventThrottle kernel_;
  EventThrottle config_;
  Debounce debounce_;
  Departures departures_;
  std::unique_ptr<PodResourcesCall> asking_;
  Time asked_at_{};                       // when that request was sent
  std::optional<DevicesInUse> in_use_;    // by kubelet's last answer; nothing before the first
  std::map<std::string, Time> orphaned_;  // by device, since when
  AttachedDevices attached_;              // as they could be read last
  std::set<std::string> swept_;           // those for longer than orphaned_after; the last sweep was for them
  std::optional<SweepRun> sweep_;
  std::string kubelet_complaint_;
  Time ask_at_{};
  Remarks remarks_;
  std::optional<Time> scanned_at_;  // the last scan that succeeded
  std::string scan_failure_;        // why the last one failed; empty if it did not
  std::set<std::string> there_;     // ids of the devices that the node had then, for tidy()
  std::map<LeftOut::Kind, size_t> left_out_;
  size_t unread_ = 0;
  bool infiniband_ports_ = false;  // of the last scan
  Time rescan_at_{};
  Time retry_at_ = Time::max();  // after a scan that failed
  Time patient_until_{};  // the first list is published then, even without the devices that it could not read
  Time reload_at_{};      // when to read the configuration without an event
};

}  // namespace vfrail::plugin
