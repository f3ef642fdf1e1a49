// Departures: devices that are in a published list and that the node does not seem to have any more. Keeps
// them as they were published until kubelet has answered whether a container has them, and those that one has
// for as long as a move between namespaces can take: it removes the RDMA device's verbs node for a moment,
// and selectors read that. Those of shared pools, which no container has for itself, leave at once. A device
// that could not be read stays unchanged, in every pool. Keeps state; the caller passes the time. Reads
// nothing.
#pragma once

#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/published_pool.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vfrail::plugin {

class Departures {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // How long a move can take. 0.6 s were seen; other pods' moves on the node go first.
  static constexpr std::chrono::milliseconds kMove{5000};
  explicit Departures(std::chrono::milliseconds move = kMove) : move_(move) {}

  // Puts the devices that `published` has and `pools` lacks back into the pools. `in_use`: kubelet's last
  // answer, null if there was none. A device that is in another pool now leaves at once, unless a part of it
  // is not visible: then a container may have it, and it stays until kubelet has said that none does.
  void hold(Pools& pools, const std::vector<PublishedPool>& published, const DevicesInUse* in_use, Time now);
  // kubelet has answered a request that was sent at that time, or, if it could not be asked, has not.
  void answered(Time asked);
  void not_answered() { last_failed_ = true; }

  // Whether kubelet has answered yet, or could not be asked.
  bool has_answer() const { return asked_.has_value() || last_failed_; }
  // Whether kubelet's answer decides on one of them.
  bool wait_for_kubelet() const { return waiting_; }
  // When the next one leaves if nothing happens.
  std::optional<Time> next() const { return next_; }

 private:
  enum class Seen : uint8_t { nowhere, in_another_pool };
  bool stays(const Pool& pool, const std::string& id, Seen seen, const DevicesInUse* in_use, Time since,
             Time now);

  const std::chrono::milliseconds move_;
  std::map<std::pair<std::string, std::string>, Time> since_;  // by resource and device
  std::optional<Time> asked_;                                  // the request of the last answer
  bool last_failed_ = false;
  bool waiting_ = false;
  std::optional<Time> next_;
};

}  // namespace vfrail::plugin
