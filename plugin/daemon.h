// Daemon: the owner thread of `vfrail serve`. Looks at the node, now and whenever something says that it
// changed, and lets the resources follow. Waits in one poll(2) for signals, the kubelet folders, the kernel's
// events, the configuration file, verdicts from gRPC threads and time.
#pragma once

#include "common/log.h"
#include "common/result.h"
#include "plugin/config_source.h"
#include "plugin/counters.h"
#include "plugin/debounce.h"
#include "plugin/grpc_library.h"
#include "plugin/hand_out.h"
#include "plugin/kernel_events.h"
#include "plugin/kubelet.h"
#include "plugin/pace.h"
#include "plugin/pod_resources.h"
#include "plugin/pools.h"
#include "plugin/resources.h"
#include "plugin/status.h"
#include "plugin/sweep_run.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace vfrail {

class Inbox;

class Daemon {
 public:
  struct Options {
    std::string kubelet_root;
    Registration registration = Registration::watcher;
    HandOutPlaces places;
    // The net under the events; the configuration's own word comes first.
    std::chrono::milliseconds rescan_interval{60'000};
    std::chrono::milliseconds stream_patience{3000};
    // Where vfrail-cni has its records; empty: nobody knows.
    std::string cni_state_dir = {};
    // The CNI executable, to run `sweep` with when pods have left something behind; empty: it is only told.
    std::string sweep_program = {};
    // What is left behind is what stays so for so long: a pod begins and ends in several steps.
    std::chrono::milliseconds left_behind_after{120'000};
    // What that configuration makes of the node now. Runs on the owner thread.
    std::function<Result<Pools>(const Config&)> look;
    ConfigSource& config;            // outlives the daemon, and is its own from now on
    KernelEvents* events = nullptr;  // likewise; null for a tree that is not this machine's
    int signal_fd = -1;              // signalfd(2): TERM and INT stop, HUP looks again; none in tests
    // Outlive the daemon; null: nobody watches.
    Counters* counters = nullptr;
    Status* status = nullptr;
  };

  Daemon(Options options, Log& log);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  // Until a signal or stop(). An error only if it cannot start; whatever comes later is retried.
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

  // Does everything that is due; answers when something will be, if nothing happens.
  Time work();
  Ready wait(Time until, int kubelet_watch) const;
  void hear_kernel();
  void hear_config();
  void reload();
  void look_at_node();
  // Asks which container has what, without waiting.
  void ask_kubelet(Time now);
  void hear_kubelet(Result<DevicesInUse> answer);
  // Tells what pods left behind, and has it swept.
  void look_for_left_behind(Time now);
  void sweep();
  void hear_sweep();
  Time next_rescan() const;
  void tell_new_warnings(const std::vector<std::string>& warnings);
  void tell_status() const;
  // False when it is time to stop.
  bool read_signals();
  bool read_inbox(Time now);

  const GrpcLibrary grpc_;
  const Options options_;
  Log& log_;
  std::shared_ptr<Inbox> inbox_;
  Resources resources_;
  Pace kernel_;
  Pace config_;
  Debounce debounce_;
  std::unique_ptr<PodResourcesCall> asking_;
  std::optional<DevicesInUse> in_use_;       // by kubelet's last answer; nothing before the first
  std::map<std::string, Time> left_behind_;  // by device, since when
  std::set<std::string> swept_;              // those that the last sweep was for
  std::optional<SweepRun> sweep_;
  std::string kubelet_complaint_;
  Time ask_at_{};
  std::set<std::string> told_;
  bool looked_ = false;
  std::map<LeftOut::Kind, size_t> left_out_;
  Time rescan_at_{};
};

}  // namespace vfrail
