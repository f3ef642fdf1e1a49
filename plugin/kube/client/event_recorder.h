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

struct EventSource {
  std::string controller;  // reportingController: "vfrail.io/controller"
  std::string instance;    // the pod's name, or the node's
};

// "NAME.17a3...", of the object that it is about.
std::string event_name(const std::string& about, std::chrono::system_clock::time_point when);
// apiVersion, kind and metadata of an Event.
Json event_head(const ObjectName& event);
// `regarding` refers to what it is about.
Json event_object(const EventSource& source, const ObjectName& name, Json regarding, const Event& event,
                  std::chrono::system_clock::time_point when);

class EventRecorder {
 public:
  using Steady = std::chrono::steady_clock;

  // `controller` is reportingController ("vfrail.io/controller"), `instance` the pod's name.
  EventRecorder(std::string controller, std::string instance, Log& log)
      : source_{std::move(controller), std::move(instance)}, log_(log) {}

  // About `object`, whose apiVersion, kind and metadata it takes. Events about what has no namespace are in
  // `default`.
  void record(ApiClient& client, const Json& object, const Event& event, Steady::time_point now);

 private:
  const EventSource source_;
  Log& log_;
  std::map<size_t, Steady::time_point> recent_;  // by the hash of object, reason and note
};

}  // namespace vfrail::kube
