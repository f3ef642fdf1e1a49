#include "plugin/publish/publishers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vfrail::plugin {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Result<> Publishers::start(const std::function<void()>& wake) {
  for (Publisher* one : all_) TRY(one->start(wake));
  return {};
}

std::vector<int> Publishers::fds() const {
  std::vector<int> out;
  for (const Publisher* one : all_) {
    const auto more = one->fds();
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

void Publishers::read() {
  for (Publisher* one : all_) one->read();
}

bool Publishers::follow(const std::vector<PublishedPool>& pools, Time now) {
  bool changed = false;
  for (Publisher* one : all_) changed = one->follow(pools, now) || changed;
  return changed;
}

Publishers::Time Publishers::run_due(Time now) {
  Time next = Time::max();
  for (Publisher* one : all_) next = std::min(next, one->run_due(now));
  return next;
}

void Publishers::ask_in_use(Time now) {
  if (sum_) return;
  sum_ = {.in_use = DevicesInUse(), .asked = now};
  sum_->in_use->taken = now;
  for (Publisher* one : all_) {
    if (one->ask_in_use(now)) asked_.push_back(one);
  }
}

bool Publishers::needs_in_use(Time now) {
  bool needed = false;
  for (Publisher* one : all_) needed = one->needs_in_use(now) || needed;
  return needed;
}

std::optional<Publisher::Answer> Publishers::take_answer() {
  std::erase_if(asked_, [&](Publisher* one) {
    auto answer = one->take_answer();
    if (!answer) return false;
    if (!answer->in_use) {
      sum_->in_use = std::move(answer->in_use);
    } else if (sum_->in_use) {
      for (auto& [resource, devices] : answer->in_use->resources)
        sum_->in_use->resources[resource].merge(devices);
    }
    return true;
  });
  return asked_.empty() ? std::exchange(sum_, std::nullopt) : std::nullopt;
}

void Publishers::complete(DevicesInUse& in_use) {
  for (Publisher* one : all_) one->complete(in_use);
}

std::vector<ResourceStatus> Publishers::status() const {
  std::vector<ResourceStatus> out;
  for (const Publisher* one : all_) {
    auto more = one->status();
    out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return out;
}

void Publishers::describe(NodeStatus& status) const {
  for (const Publisher* one : all_) one->describe(status);
}

void Publishers::close(milliseconds patience) {
  const Time deadline = steady_clock::now() + patience;
  for (Publisher* one : all_)
    one->close(
        std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now())));
}

}  // namespace vfrail::plugin
