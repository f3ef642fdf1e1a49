// Reconciler: brings about what decide() wants, network by network: definitions, then the status, then
// events. Remembers what has to be tried again, and when. Watches nothing, and has no thread.
#pragma once

#include "common/log.h"
#include "plugin/kube/client/api_client.h"
#include "plugin/kube/client/backoff.h"
#include "plugin/kube/client/event_recorder.h"
#include "plugin/kube/controller/decide.h"
#include "plugin/kube/controller/watched_objects.h"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace vfrail::kube {

class Reconciler {
 public:
  using Steady = std::chrono::steady_clock;

  struct Parts {
    ApiClient& client;
    EventRecorder& events;
    Log& log;
    std::string cni_type;
  };

  explicit Reconciler(Parts parts) : parts_(std::move(parts)) {}

  // All networks that are due. `may_go_on` is asked before each; false ends the pass.
  void pass(const WatchedObjects& watched, const std::function<bool()>& may_go_on);
  // When something is due though nothing changes.
  std::optional<Steady::time_point> next() const;
  // Another replica acts from now on.
  void forget() { work_.clear(); }

 private:
  struct Work {
    NetworkMemory memory;
    std::optional<Backoff> backoff;  // no value: nothing has failed
    std::optional<Steady::time_point> again_at;
    bool held_back = false;  // not before again_at

    bool is_needed() const { return memory != NetworkMemory() || backoff || again_at; }
  };
  enum class Outcome : uint8_t { done, retry, no_server };

  struct Subject {
    const NetworkKind& kind;
    const Json& network;
  };
  using Key = std::pair<size_t, ObjectName>;  // the index in kNetworkKinds

  // False: the other networks have no better luck.
  bool serve(const Subject& subject, const DefinitionIndex& definitions, const ControllerFacts& facts,
             Work& work);
  Outcome reconcile(const Subject& subject, Decision decision);
  Result<> carry_out(const Subject& subject, const DefinitionChange& change);
  Result<> write_status(const Subject& subject, const Json& status);
  Outcome fail(const Subject& subject, const Error& error);
  void record(const Subject& subject, const Event& event);

  Parts parts_;
  std::map<Key, Work> work_;  // of the networks of which something has to be remembered
};

}  // namespace vfrail::kube
