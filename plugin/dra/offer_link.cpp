#include "plugin/dra/offer_link.h"

#include "common/errors/error_id.h"

#include <utility>

namespace vfrail::plugin {

namespace {

// Before that many nobody need know: a container takes some seconds to start, on a busy node more.
constexpr int kPatientTries = 15;

std::string text_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->as_text() != nullptr ? *value->as_text() : std::string();
}

bool is_true_in(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
}

std::optional<int64_t> number_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->as_int() != nullptr ? std::optional(*value->as_int()) : std::nullopt;
}

// What the log is about, which does not count writes.
bool is_same(const OfferLink::State& a, const OfferLink::State& b) {
  return a.node == b.node && a.published == b.published && a.reason == b.reason;
}

}  // namespace

OfferLink::OfferLink(Options options, Log& log)
    : options_(std::move(options)),
      log_(log),
      agent_(options_.socket),
      patient_until_(std::chrono::steady_clock::now() + options_.retry * kPatientTries) {}

OfferLink::~OfferLink() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void OfferLink::start(std::function<void()> on_change) {
  on_change_ = std::move(on_change);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void OfferLink::put(const std::vector<std::string>& resources, const std::vector<OfferedDevice>& devices) {
  Json body;
  body.set("driver", options_.driver);
  body.set("resources", Json(resources));
  Json all = Json::array();
  for (const OfferedDevice& one : devices) all.push(one.device);
  body.set("devices", std::move(all));
  std::string text = body.text();
  const std::lock_guard lock(mutex_);
  if (text == body_) return;
  body_ = std::move(text);
  is_new_ = true;
  changed_.notify_all();
}

OfferLink::State OfferLink::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

OfferLink::State OfferLink::send(const std::string& body) {
  State out;
  const State before = state();
  out.node = before.node;
  out.slices = before.slices;
  out.writes = before.writes;
  const auto answer = agent_.put_devices(body);
  answers_ = answer.ok();
  if (!answer) {
    out.reason = answer.error().text;
    out.id = answer.error().id_text();
    return out;
  }
  out.node = text_of(*answer, "node");
  out.reason = text_of(*answer, "reason");
  out.id = text_of(*answer, "id");
  out.published = is_true_in(*answer, "published");
  out.sharing = is_true_in(*answer, "sharing");
  out.devices = number_of(*answer, "devices");
  out.slices = number_of(*answer, "slices").value_or(0);
  out.writes = number_of(*answer, "writes").value_or(0);
  return out;
}

void OfferLink::note(State now) {
  State before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(state_, now);
  }
  if (before != now && on_change_) on_change_();
  // Its container starts beside this one, and then has to reach the API server.
  if (!now.published && !logged_.published && std::chrono::steady_clock::now() < patient_until_) return;
  if (is_same(std::exchange(logged_, now), now)) return;
  if (now.published) {
    log_.info("devices are offered to the scheduler", {{"pool", now.node}});
  } else {
    log_.warning("devices are not offered to the scheduler",
                 {{"reason", now.reason}, {"id", id_text(ErrorId::not_offered)}});
  }
}

void OfferLink::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::string body;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, answers_ ? options_.repeat : options_.retry, [this] { return is_new_; });
      is_new_ = false;
      body = body_;
    }
    if (!stop.stop_requested() && !body.empty()) note(send(body));
  }
}

}  // namespace vfrail::plugin
