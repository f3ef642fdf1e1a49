// Resources: one Resource for each pool that kubelet is to know of. Follows the pools: serves new ones,
// publishes changes, retires those that are no longer configured. Belongs to the owner thread; never reads
// the node.
#pragma once

#include "common/log.h"
#include "plugin/device/allocate/prepare.h"
#include "plugin/device/config/config.h"
#include "plugin/device/match/published_pool.h"
#include "plugin/service/kubelet/kubelet.h"
#include "plugin/service/kubelet/resource.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

class Resources {
 public:
  struct Options {
    std::string kubelet_root;
    Registration registration = Registration::watcher;
    AllocatePlaces places;
    Counters* counters = nullptr;  // outlives this; null: not counted
    std::chrono::milliseconds stream_patience{3000};
    std::chrono::milliseconds return_patience{0};  // see Service::Options
    // Both are called on gRPC threads: the first posts a call of result() to the owner thread, the second
    // one of run_due().
    std::function<void(const std::string& resource, uint64_t attempt, RegistrationResult)> on_registration;
    std::function<void()> on_stream_end;
  };

  Resources(Options options, Log& log);

  // The present pools. A pool that is not among them any more gets an empty list, and then its socket is
  // removed. Returns whether any list has changed.
  bool follow(const std::vector<PublishedPool>& pools, Time now);
  // Does what is due; returns when it is due again if nothing happens.
  Time run_due(Time now);
  void result(const std::string& resource, uint64_t attempt, const RegistrationResult& result, Time now);
  std::vector<ResourceStatus> status() const;
  // Only our own sockets are removed; device-info files and AllocatedNodes belong to pods that run on.
  void close(std::chrono::milliseconds patience);

 private:
  bool take(const PublishedPool& pool);
  void leave_old_socket(const PublishedPool& pool);
  void print_result(const Pool& before, const Pool& after, bool list_changed);
  void warn_of_faults(const Pool& pool, const std::set<std::string>& news);
  void warn_of_empty(const Pool& pool);
  void note_empty(const PublishedPool& pool);
  bool add(const PublishedPool& pool);

  const Options options_;
  Log& log_;
  const std::shared_ptr<grpc::ResourceQuota> memory_;
  std::map<std::string, std::unique_ptr<Resource>> resources_;
  // Configured, and without a device from the start, so kubelet is not to know of them.
  std::map<std::string, PublishedPool> empty_;
  std::map<std::string, ResourceStatus> unusable_;  // without a socket path, with the reason
  FileIdentity kubelet_;
  bool kubelet_seen_ = false;
};

}  // namespace vfrail::plugin
