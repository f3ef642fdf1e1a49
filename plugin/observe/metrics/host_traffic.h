// HostTraffic: the traffic of the host's interfaces, of all of them by one question: a dump by netlink in the
// host's network namespace, and proc/1/net/dev from another one. Keeps what it read, so it is good for one
// scrape. Knows neither pools nor pods.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/sys_root.h"

#include <map>
#include <optional>
#include <string>

namespace vfrail::plugin {

class HostTraffic {
 public:
  // `kernel` is of the network namespace of this process; null: none.
  HostTraffic(const SysRoot& sys, Kernel* kernel) : sys_(sys), kernel_(kernel) {}

  // Of an interface of the device called `id`. No value if neither source has one of that name and device.
  std::optional<TrafficCounters> find(const std::string& id, const std::string& netdev);

 private:
  using ByName = std::map<std::string, TrafficCounters>;

  void dump();
  void read_lines();

  const SysRoot& sys_;
  Kernel* const kernel_;
  // By device; of one with several interfaces the dump does not say which is which.
  std::optional<std::map<std::string, std::optional<TrafficCounters>>> dumped_;
  std::optional<ByName> lines_;
};

}  // namespace vfrail::plugin
