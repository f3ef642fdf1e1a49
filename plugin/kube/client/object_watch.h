// ObjectWatch: the objects of one kind as the API server has them, kept up to date by a thread of its own:
// list, watch, and from the start again where the server has forgotten. Changes nothing in the cluster.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "plugin/kube/client/api_client.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace vfrail::kube {

// Wakes the owner of several watches.
class Wakeup {
 public:
  void notify();
  // Until notify(), the deadline or a request to stop. False: the time is over, or a stop.
  bool wait_until(std::chrono::steady_clock::time_point deadline, std::stop_token stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool notified_ = false;
};

struct WatchOptions {
  ResourceType type;
  std::string name_space = {};  // empty: all
  Selectors selectors = {};
  // What is kept of an object; a null leaves it out. By default all but metadata.managedFields.
  std::function<Json(Json&&)> keep = {};
  // After a failure the objects are listed again, so that `trouble` ends when the server answers, and not
  // with the next change. For kinds of which there are few.
  bool lists_after_trouble = false;
};

class ObjectWatch {
 public:
  using Objects = std::map<ObjectName, std::shared_ptr<const Json>>;
  struct View {
    Objects objects;
    bool complete = false;              // the kind has been listed once, and `objects` is of one moment
    std::optional<Error> trouble = {};  // why it may be old
    std::string version = {};           // resourceVersion of the newest change in `objects`

    // The API server does not know the kind (no CRD). A file of a token that is missing, or a name that
    // cannot be looked up, is Errc::not_found too, and says nothing about kinds.
    bool is_absent() const { return trouble && trouble->sys == 404; }
  };

  ObjectWatch(ClusterAccess access, WatchOptions options, Wakeup& wakeup);
  ObjectWatch(const ObjectWatch&) = delete;
  ObjectWatch& operator=(const ObjectWatch&) = delete;
  ~ObjectWatch();  // ends the request that is under way

  View view() const;
  // Another number whenever view() may be another: who has seen it need not copy the objects.
  uint64_t changes() const { return changes_; }

 private:
  void run(const std::stop_token& stop);
  Result<> list_and_watch(ApiClient& client);
  void keep(Objects& objects, Json&& object) const;
  template <class Change>
  void publish(Change change);

  const ClusterAccess access_;
  const WatchOptions options_;
  Wakeup& wakeup_;
  mutable std::mutex mutex_;
  View view_;
  std::atomic<uint64_t> changes_{0};
  std::string version_;  // of the thread: the last that it knows; empty: list
  std::jthread thread_;
};

}  // namespace vfrail::kube
