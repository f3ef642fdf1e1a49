// Resource: the life of one resource with kubelet: its services, its socket, and the registration, each
// restored when it is lost. Belongs to the owner thread, which calls run_due(); nothing here waits.
#pragma once

#include "common/log.h"
#include "plugin/observe/status/counters.h"
#include "plugin/observe/status/status.h"
#include "plugin/service/kubelet/endpoint.h"
#include "plugin/service/kubelet/kubelet.h"
#include "plugin/service/kubelet/service.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

using Time = std::chrono::steady_clock::time_point;

// When a failed step may be tried again: at once, then after 100 ms, doubling up to 5 s.
class Backoff {
 public:
  Time next() const { return next_; }
  void failed(Time now);
  void reset();

 private:
  static constexpr std::chrono::milliseconds kFirst{100};
  static constexpr std::chrono::milliseconds kLongest{5000};
  std::chrono::milliseconds delay_ = kFirst;
  Time next_{};
};

class Resource {
 public:
  struct Options {
    std::string socket;  // absolute path
    Registration registration = Registration::watcher;
    std::string kubelet_socket;
    AllocatePlaces places;
    Counters* counters = nullptr;                 // outlives this; null: not counted
    std::shared_ptr<grpc::ResourceQuota> memory;  // for the calls of all resources
    // Called on gRPC threads: posts a call of result() to the owner thread. `attempt` is to be passed on.
    std::function<void(uint64_t attempt, RegistrationResult)> on_registration;
    // Called on a gRPC thread: a stream has ended, run_due() may have something to do.
    std::function<void()> on_stream_end = {};
    // How long a kubelet that has registered us may be without a stream. It opens one at once.
    std::chrono::milliseconds stream_patience{3000};
    std::chrono::milliseconds return_patience{0};  // see Service::Options
  };

  Resource(PublishedPool first, Options options, Log& log);

  // Does what is due: creates a lost socket again, registers. Returns when it is due again if nothing
  // happens.
  std::optional<Time> run_due(Time now, bool kubelet_is_there);
  // Another kubelet serves the registration socket; with legacy registration it knows nothing of us.
  void kubelet_restarted();
  // Its registration socket is gone. It is probably about to be created again.
  void kubelet_left();
  void result(uint64_t attempt, const RegistrationResult& result, Time now);
  // True if the list changed. Revokes a retirement. What a registration contains only makes it register
  // again.
  bool publish(PublishedPool next);
  // The resource is no longer configured: kubelet gets a list without devices, then run_due() closes the
  // socket, and is_retired().
  void retire(Time now);
  bool is_retiring() const { return leave_by_.has_value(); }
  bool is_retired() const { return retired_; }
  void close(std::chrono::milliseconds patience);

  const std::string& name() const { return service_.resource(); }
  const std::string& socket() const { return options_.socket; }
  PublishedPool pool() const { return service_.pool(); }
  ResourceStatus status() const;

 private:
  bool prefers() const;  // GetPreferredAllocation is implemented for it
  std::optional<Time> keep_open(Time now);
  std::optional<Time> keep_registered(Time now, bool kubelet_is_there);
  std::optional<Time> keep_registered(Time now);
  void cancel_call();
  bool kubelet_is_down() const;
  std::optional<Time> leave(Time now);
  void open(Time now);
  void yield_socket();
  void note_lost_stream(Time now);
  // A line for each new reason; an unchanged reason is repeated at debug level only.
  void complain(std::string_view what, const std::string& reason, ErrorId id);

  const Options options_;
  Log& log_;
  Service service_;
  Endpoint endpoint_;
  std::unique_ptr<RegisterCall> call_;
  bool registered_ = false;
  bool displaced_ = false;  // another process has put its socket at our path
  bool retired_ = false;
  std::optional<Time> leave_by_;        // retiring: not later than this
  std::optional<Time> stream_lost_at_;  // registered, and without a stream
  std::vector<Time> lost_streams_;      // of late, of the same kubelet
  bool rival_reported_ = false;
  uint64_t attempt_ = 0;  // of Register calls; the plugin watcher's results have 0
  Backoff opening_;
  Backoff registering_;
  std::string complaint_;
};

}  // namespace vfrail::plugin
