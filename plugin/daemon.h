// Daemon: the owner thread of `vfrail serve`. Looks at the node, publishes the pools, and keeps a Resource
// alive for each of them. Waits in one poll(2) for signals, the kubelet folders, verdicts from gRPC threads
// and time.
#pragma once

#include "common/log.h"
#include "common/result.h"
#include "plugin/counters.h"
#include "plugin/grpc_library.h"
#include "plugin/hand_out.h"
#include "plugin/kubelet.h"
#include "plugin/pools.h"
#include "plugin/resource.h"
#include "plugin/status.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
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
    std::chrono::milliseconds rescan_interval{60'000};
    // What is on the node now. Runs on the owner thread.
    std::function<Result<Pools>()> look;
    int signal_fd = -1;  // signalfd(2): TERM and INT stop, HUP looks again; none in tests
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
  void look_at_node(Time now);
  void take(Pool pool);
  void tell_new_warnings(const Pools& pools);
  void add_resource(Pool pool);
  Time look_at_resources(Time now);
  void tell_status() const;
  // False when it is time to stop.
  bool read_signals();
  bool read_inbox(Time now);
  void close_all();

  const GrpcLibrary grpc_;
  const Options options_;
  Log& log_;
  std::shared_ptr<Inbox> inbox_;
  std::map<std::string, std::unique_ptr<Resource>> resources_;
  std::set<std::string> told_;
  FileIdentity kubelet_;
  bool looked_ = false;
  std::map<LeftOut::Kind, size_t> left_out_;
  Time rescan_at_{};
};

}  // namespace vfrail
