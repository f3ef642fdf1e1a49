#include "plugin/kube/node/node_agent.h"

#include <algorithm>
#include <utility>

namespace vfrail::kube {

namespace {

// serve waits 10 s for an answer, and learns the rest with the next one.
constexpr std::chrono::seconds kDecision{3};
constexpr std::chrono::seconds kPatience{10};
// Nothing is due: a change or an offer wakes the thread.
constexpr std::chrono::hours kNever{24};

}  // namespace

NodeAgent::NodeAgent(ClusterAccess access, NodeAgentOptions options, Log& log)
    : access_(std::move(access)),
      options_(std::move(options)),
      log_(log),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

NodeAgent::~NodeAgent() = default;

PublishState NodeAgent::offer(DeviceOffer offer) {
  std::unique_lock lock(mutex_);
  offered_ = {std::make_shared<const DeviceOffer>(std::move(offer)), Steady::now(), offered_.number + 1};
  const uint64_t number = offered_.number;
  wakeup_.notify();
  decided_.wait_for(lock, kDecision, [&] { return decided_number_ >= number; });
  return state_;
}

NodeAgent::Offered NodeAgent::offered() const {
  const std::lock_guard lock(mutex_);
  return offered_;
}

void NodeAgent::watch_slices(bool by_driver) {
  watches_driver_ = by_driver;
  std::string fields = "spec.nodeName=" + options_.node;
  if (by_driver) fields += ",spec.driver=" + options_.driver;
  slices_.reset();
  slices_ = std::make_unique<ObjectWatch>(
      access_,
      WatchOptions{.type = kResourceSlices, .selectors = {.fields = fields}, .lists_after_trouble = true},
      wakeup_);
}

void NodeAgent::run(const std::stop_token& stop) {
  ApiClient client(access_, stop);
  client.set_patience(kPatience);
  SlicePublisher publisher(client, {options_.driver, options_.node, {}}, options_.node_reads, log_);
  while (!stop.stop_requested()) {
    const auto again = pass(publisher);
    wakeup_.wait_until(again, stop);
  }
  slices_.reset();
}

NodeAgent::Steady::time_point NodeAgent::pass(SlicePublisher& publisher) {
  const auto now = Steady::now();
  const Offered offered = this->offered();
  if (offered.offer == nullptr) return now + kNever;
  if (slices_ == nullptr) watch_slices(true);  // a node that posts Events alone has no right to
  const auto silent_at = offered.at + options_.silence;
  if (now >= silent_at) {
    if (!std::exchange(is_silent_, true))
      log_.info("vfrail serve sends nothing; the slices stay as they are", {{"pool", options_.node}});
    return now + kNever;
  }
  is_silent_ = false;
  const ObjectWatch::View view = slices_->view();
  if (watches_driver_ && view.trouble && view.trouble->sys == 400) {
    log_.info("slices are watched without a selector of the driver", {{"error", view.trouble->text}});
    watch_slices(false);
    return silent_at;
  }
  const SlicePublisher::Outcome outcome = publisher.pass(*offered.offer, view);
  {
    const std::lock_guard lock(mutex_);
    state_ = publisher.state();
    if (outcome.decided) decided_number_ = std::max(decided_number_, offered.number);
  }
  decided_.notify_all();
  return std::min(outcome.again, silent_at);
}

}  // namespace vfrail::kube
