// Resources: one Resource for each pool that kubelet is to know of. Follows the pools: serves new ones,
// publishes what changed, takes back what the configuration has no longer. Belongs to the owner thread; never
// looks at the node.
#pragma once

#include "common/log.h"
#include "plugin/config.h"
#include "plugin/hand_out.h"
#include "plugin/kubelet.h"
#include "plugin/pools.h"
#include "plugin/resource.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace vfrail {

class Resources {
 public:
  struct Options {
    std::string kubelet_root;
    Registration registration = Registration::watcher;
    HandOutPlaces places;
    Counters* counters = nullptr;  // outlives this; null: nobody counts
    std::chrono::milliseconds stream_patience{3000};
    // Both are called on gRPC threads: the first hands a call of verdict() to the owner thread, the second
    // one of look().
    std::function<void(const std::string& resource, uint64_t attempt, RegistrationVerdict)> on_verdict;
    std::function<void()> on_stream_end;
  };

  Resources(Options options, Log& log) : options_(std::move(options)), log_(log) {}

  // What the node has now. A pool that is not among them any more goes to 0 devices, and then its socket
  // goes. Whether any list is different from before.
  bool follow(std::vector<Pool> pools, Time now);
  // Does what is due; answers when to look again if nothing happens.
  Time look(Time now);
  void verdict(const std::string& resource, uint64_t attempt, const RegistrationVerdict& verdict, Time now);
  std::vector<ResourceStatus> status() const;
  // Only our own sockets go; device-info files and promises belong to pods that run on.
  void close(std::chrono::milliseconds patience);

 private:
  bool take(Pool pool);
  void tell(const Pool& before, const Pool& after);
  bool add(Pool pool);

  const Options options_;
  Log& log_;
  std::map<std::string, std::unique_ptr<Resource>> resources_;
  std::set<std::string> unusable_;  // socket paths that were complained about
  FileIdentity kubelet_;
};

}  // namespace vfrail
