#include "plugin/kube/client/object_watch.h"

#include "plugin/kube/client/backoff.h"
#include "plugin/kube/client/pause.h"

#include <malloc.h>
#include <random>
#include <utility>

namespace vfrail::kube {

namespace {

// How long the server is asked to keep a watch: as client-go, so that after a restart of one of several API
// servers the clients spread again.
constexpr uint32_t kShortestWatch = 300;
constexpr uint32_t kLongestWatch = 600;
// A page is a tree in memory, of each object several times what is kept of it, and several kinds are listed
// at once.
constexpr uint32_t kPage = 25;

Json without_managers(Json&& object) {
  for (auto& [key, value] : *object.as_object()) {
    Json::Object* metadata = key == "metadata" ? value.as_object() : nullptr;
    if (metadata != nullptr)
      std::erase_if(*metadata, [](const auto& field) { return field.first == "managedFields"; });
  }
  return std::move(object);
}

uint32_t watch_seconds() {
  std::minstd_rand random{std::random_device{}()};
  return std::uniform_int_distribution<uint32_t>(kShortestWatch, kLongestWatch)(random);
}

}  // namespace

void Wakeup::notify() {
  const std::lock_guard lock(mutex_);
  notified_ = true;
  changed_.notify_all();
}

bool Wakeup::wait_until(std::chrono::steady_clock::time_point deadline, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, stop, deadline, [this] { return notified_; });
  return std::exchange(notified_, false) && !stop.stop_requested();
}

ObjectWatch::ObjectWatch(ClusterAccess access, WatchOptions options, Wakeup& wakeup)
    : access_(std::move(access)),
      options_(std::move(options)),
      wakeup_(wakeup),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

ObjectWatch::~ObjectWatch() = default;

ObjectWatch::View ObjectWatch::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

void ObjectWatch::run(const std::stop_token& stop) {
  ApiClient client(access_, stop);
  client.set_page(kPage);
  Backoff backoff;
  while (!stop.stop_requested()) {
    auto result = list_and_watch(client);
    if (stop.stop_requested()) return;
    if (result || result.error().sys == 410) continue;  // begins again
    {
      const std::lock_guard lock(mutex_);
      if (!view_.trouble || view_.trouble->text != result.error().text) ++changes_;
      view_.trouble = std::move(result.error());
    }
    if (options_.lists_after_trouble) version_.clear();
    wakeup_.notify();
    if (!pause_for(backoff.after_failure(Backoff::Clock::now()), stop)) return;
  }
}

void ObjectWatch::keep(Objects& objects, Json&& object) const {
  const ObjectName name = name_of(object);
  Json kept = options_.keep ? options_.keep(std::move(object)) : without_managers(std::move(object));
  if (kept.is_null())
    objects.erase(name);
  else
    objects[name] = std::make_shared<const Json>(std::move(kept));
}

Result<> ObjectWatch::list_and_watch(ApiClient& client) {
  if (version_.empty()) {
    Objects objects;
    std::string version = TRY(client.list(
        options_.type, options_.name_space, options_.selectors,
        [&](Json&& object) { keep(objects, std::move(object)); }, [&] { objects.clear(); }));
    version_ = std::move(version);
    publish([&](View& view) { view.objects = std::move(objects); });
    ::malloc_trim(0);  // what its pages took, before the next kind's come
  }
  const auto take = [this](std::string_view type, Json&& object) {
    version_ = version_of(object);
    if (type == "BOOKMARK") return;
    publish([&](View& view) {
      if (type == "DELETED")
        view.objects.erase(name_of(object));
      else
        keep(view.objects, std::move(object));
    });
  };
  auto result =
      client.watch(options_.type, options_.name_space, options_.selectors, version_, watch_seconds(), take);
  // The server has forgotten that version, or does not know the kind any more.
  if (!result && (result.error().sys == 410 || result.error().sys == 404)) version_.clear();
  return result;
}

template <class Change>
void ObjectWatch::publish(Change change) {
  {
    const std::lock_guard lock(mutex_);
    change(view_);
    view_.version = version_;
    view_.complete = true;
    view_.trouble.reset();
    ++changes_;
  }
  wakeup_.notify();
}

}  // namespace vfrail::kube
