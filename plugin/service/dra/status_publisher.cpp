#include "plugin/service/dra/status_publisher.h"

#include "common/errors/error_id.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

StatusPublisher::StatusPublisher(Options options, ApiAgent& api, Log& log)
    : options_(std::move(options)),
      log_(log),
      writer_(options_.writer, api, log),
      attachments_(options_.places.cni_state_dir + "/attachments"),
      claims_(options_.places.run_dir + "/claims") {}

Result<> StatusPublisher::start(std::function<void()>) {
  writer_.start();
  return {};
}

std::vector<int> StatusPublisher::fds() const {
  std::vector<int> out = attachments_.fds();
  for (const int fd : claims_.fds()) out.push_back(fd);
  return out;
}

void StatusPublisher::read() {
  const bool attached = attachments_.read().has_value();
  if (claims_.read().has_value() || attached)
    due_ = std::min(due_, std::chrono::steady_clock::now() + options_.settle);
}

Publisher::Time StatusPublisher::run_due(Time now) {
  if (now < due_) return due_;
  due_ = now + options_.repeat;
  // Before the files are read: what comes later is an event.
  attachments_.open_missing();
  claims_.open_missing();
  const auto statuses = read_claim_statuses(options_.places, options_.driver);
  if (statuses) writer_.put(*statuses);
  if (!statuses && statuses.error().text != complaint_)
    log_.warning("what the status of claims should be is not known",
                 {{"reason", statuses.error().text}, {"id", statuses.error().id_text()}});
  complaint_ = statuses ? std::string() : statuses.error().text;
  return due_;
}

}  // namespace vfrail::plugin
