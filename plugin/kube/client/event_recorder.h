// EventRecorder: events about objects (events.k8s.io/v1), as `kubectl describe` shows them. The same about
// the same object at most once in five minutes; what cannot be written is lost, with a line in the log.
#pragma once

#include "common/log.h"
#include "plugin/kube/client/api_client.h"

#include <chrono>
#include <map>
#include <string>

namespace vfrail::kube {

enum class EventType : uint8_t { normal, warning };

struct Event {
  EventType type = EventType::normal;
  std::string reason = {};  // "NetworkCreated": one word, at most 128 bytes
  std::string action = {};  // "Apply": likewise
  std::string note = {};    // at most 1,024 bytes; the rest is cut
};

class EventRecorder {
 public:
  using Steady = std::chrono::steady_clock;

  // `controller` is reportingController ("vfrail.io/controller"), `instance` the pod's name.
  EventRecorder(std::string controller, std::string instance, Log& log)
      : controller_(std::move(controller)), instance_(std::move(instance)), log_(log) {}

  // About `object`, whose apiVersion, kind and metadata it takes. Events about what has no namespace are in
  // `default`.
  void record(ApiClient& client, const Json& object, const Event& event, Steady::time_point now);

 private:
  const std::string controller_;
  const std::string instance_;
  Log& log_;
  std::map<std::string, Steady::time_point> recent_;
};

}  // namespace vfrail::kube
