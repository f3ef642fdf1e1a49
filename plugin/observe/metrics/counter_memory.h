// CounterMemory: what earlier scrapes found out about the files of the devices' counters, so that a scrape
// does not ask for what is not there. Knows no counter's value, and reads nothing. For one thread.
//
// Files are not held open: the kernel keeps a buffer of 4 KiB for each that was read (seq_file), which is
// memory of this container.
#pragma once

#include "common/node/rdma_counters.h"
#include "plugin/device/inventory/inventory.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

class CounterMemory {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // After this long everything is found out again: a driver may have more counters once its module is loaded.
  static constexpr std::chrono::minutes kKept{10};

  using Names = std::vector<std::string>;
  // A port of an RDMA device and the files of its counters that have a number. The lists are shared: devices
  // of a driver have the same.
  struct RdmaPort {
    std::string device;
    uint32_t port = 1;
    std::shared_ptr<const Names> files;
  };
  // What is not known is asked for.
  struct Known {
    bool no_netdev = false;                     // in the host's sysfs
    std::optional<std::vector<RdmaPort>> rdma;  // in the host's sysfs
    std::optional<Names> verbs_nodes;
  };

  // Of that device; nothing is known if the device is not what it was: another driver, or other interfaces or
  // RDMA devices.
  Known& of(const DeviceFacts& function);
  // Forgets what is old, and devices that `begin` to `of` did not name.
  void begin(Time now);
  std::shared_ptr<const Names> share(Names files);

 private:
  struct Entry {
    std::string seen_as;
    Known known;
    bool named = true;
  };
  std::map<std::string, Entry> devices_;
  std::map<Names, std::shared_ptr<const Names>> lists_;
  Time since_{};
};

}  // namespace vfrail::plugin
