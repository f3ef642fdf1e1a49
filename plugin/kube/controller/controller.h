// Controller: the networks of network-operator without an operator: watches what concerns them, and while it
// has the lease brings about what decide() wants. All in the thread that calls run(), beside those of the
// watches.
#pragma once

#include "common/log.h"
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/client/lease.h"
#include "plugin/kube/client/object_watch.h"
#include "plugin/kube/controller/watched_objects.h"

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::kube {

class Reconciler;

struct ControllerOptions {
  std::string cni_type = "vfrail";  // as wanted_definition() has it
  ObjectName lease;      // where replicas agree who acts: {the pod's namespace, "vfrail-controller"}
  std::string instance;  // the pod's name, which no other replica has
  // All networks are compared that often even if no watch reports anything: a watch can be silent and broken.
  std::chrono::milliseconds resync = std::chrono::minutes(10);
};

class Controller {
 public:
  Controller(ClusterAccess access, ControllerOptions options, Log& log)
      : access_(std::move(access)), options_(std::move(options)), log_(log) {}

  // Until `stop` is requested.
  void run(std::stop_token stop);

 private:
  using Steady = std::chrono::steady_clock;
  struct Watches;
  using Seen = std::vector<uint64_t>;  // how often each of them has changed

  bool keep_lease(ApiClient& client);
  std::optional<WatchedObjects> take(const Watches& watches);
  bool take_networks(const Watches& watches, WatchedObjects& out);
  void act(Reconciler& reconciler, const Watches& watches, ApiClient& client, const std::stop_token& stop);
  void say(const std::string& text, const Error* error = nullptr);
  void say_changes_of(const ResourceType& type, const ObjectWatch::View& view);
  void release_lease();

  const ClusterAccess access_;
  const ControllerOptions options_;
  Log& log_;
  Wakeup wakeup_;
  std::optional<Lease> lease_;
  bool leads_ = false;
  std::string said_;  // what the controller waits for, as it was logged
  std::map<std::string_view, std::string>
      unseen_;  // plural -> why its changes are not seen, as it was logged
  Seen seen_;   // by the last pass
  std::optional<Steady::time_point> compared_at_;
};

}  // namespace vfrail::kube
