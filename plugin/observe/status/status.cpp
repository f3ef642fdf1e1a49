#include "plugin/observe/status/status.h"

#include <utility>

namespace vfrail::plugin {

std::vector<std::string> find_obstacles(const NodeStatus& status) {
  if (!status.scanned) {
    return {"the node's devices have not been read yet" +
            (status.scan_failure.empty() ? "" : ": " + status.scan_failure)};
  }
  std::vector<std::string> out;
  if (!status.scan_failure.empty())
    out.push_back("the node's devices cannot be read; what was read last stays advertised: " +
                  status.scan_failure);
  for (const SkippedEntry& entry : status.skipped) out.push_back("not served: " + entry.reason);
  for (const ResourceStatus& resource : status.resources) {
    if (resource.pool->devices.empty() || (resource.serving && resource.registered)) continue;
    std::string line = resource.pool->resource() + (resource.serving ? ": kubelet has not registered it yet"
                                                                     : ": its socket is not open");
    if (!resource.trouble.empty()) line += ": " + resource.trouble;
    out.push_back(std::move(line));
  }
  return out;
}

void LiveStatus::publish(NodeStatus now) {
  auto next = std::make_shared<const NodeStatus>(std::move(now));
  const std::lock_guard lock(mutex_);
  now_.swap(next);
}

std::shared_ptr<const NodeStatus> LiveStatus::get() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void LiveStatus::connect(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  asked_.reset();
}

void LiveStatus::answer() {
  const std::lock_guard lock(mutex_);
  asked_.reset();
}

std::optional<std::chrono::milliseconds> LiveStatus::since_heartbeat() {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (!wake_) return std::nullopt;
  if (asked_) return std::chrono::duration_cast<std::chrono::milliseconds>(now - *asked_);
  asked_ = now;
  wake_();
  return std::chrono::milliseconds{0};
}

}  // namespace vfrail::plugin
