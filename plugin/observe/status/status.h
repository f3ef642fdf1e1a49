// LiveStatus: the present state of the daemon. The owner thread publishes it, any thread reads it; and
// whether the owner thread is alive. Decides nothing about devices.
#pragma once

#include "plugin/device/match/published_pool.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct ResourceStatus {
  PublishedPool pool = {};
  bool serving = false;      // its socket is open
  bool registered = false;   // kubelet has confirmed it
  std::string trouble = {};  // the last reason of a failure; empty: none
};

// What goes by claims, as the scheduler has it.
struct OfferStatus {
  bool published = false;
  std::string not_published_id = {};  // why not: "VF-BUSY"; empty: it is, or nobody has answered yet
  int64_t slices = 0;                 // of this node
  int64_t writes = 0;                 // of slices, since the agent of the API has started
};

struct NodeStatus {
  bool scanned = false;      // the node's devices, with success, at least once
  std::string scan_failure;  // why the last scan failed, wholly or for some devices; empty if it did not
  std::vector<ResourceStatus> resources;
  std::map<LeftOut::Kind, size_t> left_out;
  size_t unread = 0;                      // devices that the last scan could not read
  std::vector<std::string> orphans = {};  // devices whose attachment has outlived its pod
  std::vector<SkippedEntry> skipped;      // of the configuration
  std::optional<OfferStatus> offer = {};  // no value: nothing goes by claims
};

// Why the plugin is not ready, a sentence each. Empty: kubelet has registered every resource that has
// devices, and no entry of the configuration is faulty.
std::vector<std::string> find_obstacles(const NodeStatus& status);

class LiveStatus {
 public:
  // For the owner thread alone.
  void publish(NodeStatus now);
  std::shared_ptr<const NodeStatus> get() const;

  // The owner thread's heartbeat. A reader asks, `wake` makes the owner thread loop once, and that answers:
  // an idle daemon needs no timer for this. An unanswered request means that the thread is stuck.
  void connect(std::function<void()> wake);  // owner; an empty function: it has ended
  void answer();                             // owner
  // For how long the oldest unanswered request has waited; 0 if there was none. Sends the next one. No value
  // if there is no owner thread.
  std::optional<std::chrono::milliseconds> since_heartbeat();

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const NodeStatus> now_ = std::make_shared<const NodeStatus>();
  std::function<void()> wake_;
  std::optional<std::chrono::steady_clock::time_point> asked_;
};

}  // namespace vfrail::plugin
