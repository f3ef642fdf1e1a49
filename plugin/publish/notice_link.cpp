#include "plugin/publish/notice_link.h"

#include "common/text.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace vfrail::plugin {

std::string notices_body(const std::vector<Notice>& notices) {
  Json list = Json::array();
  for (const Notice& one : notices)
    list.push(Json::object()
                  .set("reason", one.reason)
                  .set("about", well_formed(one.about))
                  .set("text", well_formed(one.text)));
  return Json::object().set("notices", std::move(list)).text();
}

NoticeLink::NoticeLink(Options options, Status status, Log& log)
    : options_(std::move(options)),
      status_(std::move(status)),
      log_(log),
      agent_(options_.socket),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

NoticeLink::~NoticeLink() {
  thread_.request_stop();
  thread_.join();
}

void NoticeLink::run(const std::stop_token& stop) {
  using Steady = std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable_any never;
  std::string sent;
  Steady::time_point repeat_at{};
  while (!stop.stop_requested()) {
    const std::string body = notices_body(finder_.find(*status_()));
    const auto now = Steady::now();
    if (body != sent || now >= repeat_at) {
      send(body);
      sent = failure_.empty() ? body : std::string();  // else again after the interval
      repeat_at = now + options_.repeat;
    }
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, options_.interval, [] { return false; });
  }
}

void NoticeLink::send(const std::string& body) {
  const auto taken = agent_.put_notices(body);
  const std::string failure = taken ? std::string() : taken.error().text;
  if (failure == std::exchange(failure_, failure) || failure.empty()) return;
  log_.info("what an administrator must see of this node cannot be sent, and does not become an Event",
            {{"reason", failure}});
}

}  // namespace vfrail::plugin
