// Debounce: keeps the advertised health of a device from flapping with a port, and how many nodes its RDMA
// devices have from shrinking while they return from a pod. A change counts when it has held for a while.
// Keeps state; the caller passes the time.
#pragma once

#include "plugin/device/match/pools.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

class Debounce {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // How long a change has to hold.
  static constexpr std::chrono::milliseconds kHold{2000};
  explicit Debounce(std::chrono::milliseconds hold = kHold) : hold_(hold) {}

  // Replaces faults of ports and devices that are too new, or gone too recently, by what was advertised
  // before, and a number of RDMA nodes that fell too recently by the one before. A device that is seen for
  // the first time has its present ones. Returns when to read again, if something is not yet settled.
  std::optional<Time> settle(std::vector<Pool>& pools, Time now);

 private:
  struct Reported {
    Fault fault;
    std::optional<Time> differs_since = {};
    size_t rdma_nodes = 0;
    std::optional<Time> fewer_since = {};
  };

  std::optional<Time> settle_fault(PoolDevice& device, Reported& reported, Time now) const;
  std::optional<Time> settle_nodes(PoolDevice& device, Reported& reported, Time now) const;

  const std::chrono::milliseconds hold_;
  std::map<std::string, Reported> reported_;  // by resource and device
};

}  // namespace vfrail::plugin
