#include "plugin/kube/client/event_recorder.h"

#include "common/text.h"
#include "plugin/kube/access/api_time.h"
#include "plugin/kube/access/fields.h"

#include <cstdio>
#include <functional>
#include <utility>

namespace vfrail::kube {

namespace {

// Of the API (events.k8s.io/v1); longer ones are refused.
constexpr size_t kMaxNote = 1024;
constexpr size_t kMaxWord = 128;
constexpr size_t kMaxName = 253;
constexpr std::chrono::minutes kRepeat{5};
// Of what is remembered; the oldest are forgotten then, and may be said again.
constexpr size_t kMaxRecent = 1'000;

Json reference_to(const Json& object) {
  Json out = Json::object();
  const ObjectName name = name_of(object);
  out.set("apiVersion", text_at(object, {"apiVersion"}));
  out.set("kind", text_at(object, {"kind"}));
  out.set("name", name.name);
  if (!name.name_space.empty()) out.set("namespace", name.name_space);
  out.set("uid", uid_of(object));
  out.set("resourceVersion", version_of(object));
  return out;
}

// At a byte where a character of UTF-8 begins.
std::string cut(std::string text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text;
}

}  // namespace

std::string event_name(const std::string& about, std::chrono::system_clock::time_point when) {
  char ending[32] = {};
  std::snprintf(ending, sizeof ending, ".%llx",
                static_cast<unsigned long long>(std::chrono::nanoseconds(when.time_since_epoch()).count()));
  return about.substr(0, kMaxName - sizeof ending) + ending;
}

Json event_head(const ObjectName& event) {
  Json out = Json::object();
  out.set("apiVersion", kEvents.api_version());
  out.set("kind", std::string(kEvents.kind));
  out.set("metadata", Json::object().set("name", event.name).set("namespace", event.name_space));
  return out;
}

Json event_object(const EventSource& source, const ObjectName& name, Json regarding, const Event& event,
                  std::chrono::system_clock::time_point when) {
  Json out = event_head(name);
  out.set("eventTime", api_micro_time(when));
  out.set("reportingController", source.controller);
  out.set("reportingInstance", cut(source.instance, kMaxWord));
  out.set("action", event.action);
  out.set("reason", event.reason);
  out.set("regarding", std::move(regarding));
  out.set("note", cut(well_formed(event.note), kMaxNote));
  out.set("type", event.type == EventType::warning ? "Warning" : "Normal");
  return out;
}

void EventRecorder::record(ApiClient& client, const Json& object, const Event& event,
                           Steady::time_point now) {
  const ObjectName about = name_of(object);
  const size_t key =
      std::hash<std::string>()(uid_of(object) + " " + about.text() + " " + event.reason + " " + event.note);
  const auto seen = recent_.find(key);
  if (seen != recent_.end() && now - seen->second < kRepeat) return;
  if (recent_.size() >= kMaxRecent)
    std::erase_if(recent_, [&](const auto& one) { return now - one.second >= kRepeat; });
  if (recent_.size() >= kMaxRecent) recent_.clear();
  recent_[key] = now;
  const auto wall = std::chrono::system_clock::now();
  const std::string name_space = about.name_space.empty() ? "default" : about.name_space;
  const Json out =
      event_object(source_, {name_space, event_name(about.name, wall)}, reference_to(object), event, wall);
  const auto written = client.create(kEvents, name_space, out);
  if (!written)
    log_.info("an event could not be written",
              {{"object", about.text()}, {"reason", event.reason}, {"error", written.error().text}});
}

}  // namespace vfrail::kube
