#include "plugin/dra/status_writer.h"

#include "common/errors/error_id.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

namespace {

// In a row, 15 s with the default waits: before that nobody need know. vfrail-kube starts beside this
// process.
constexpr size_t kSilentFailures = 5;

}  // namespace

void StatusWriter::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void StatusWriter::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void StatusWriter::put(const std::map<std::string, ClaimStatus>& statuses) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& one) { return !statuses.contains(one.first); });
  for (const auto& [uid, status] : statuses) {
    const auto [at, is_new] = entries_.try_emplace(uid, Entry{status, {}});
    // Of a claim that is prepared since then nothing was written.
    if (is_new && !is_first_) at->second.written = Json::array();
    at->second.wanted = status;
  }
  is_first_ = false;
  changed_.notify_all();
}

StatusWriter::Entry* StatusWriter::next_entry() {
  const auto at = std::find_if(entries_.begin(), entries_.end(), [](const auto& one) {
    return !one.second.written || !(*one.second.written == one.second.wanted.devices);
  });
  return at == entries_.end() ? nullptr : &at->second;
}

void StatusWriter::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    ClaimStatus next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return next_entry() != nullptr; });
      if (stop.stop_requested()) return;
      next = next_entry()->wanted;
    }
    const auto wait = write(next.claim.uid, next);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, wait, [] { return false; });
  }
}

std::chrono::milliseconds StatusWriter::write(const std::string& uid, const ClaimStatus& status) {
  const auto done = api_.set_status(status.claim, status.devices);
  // A claim that is gone needs none.
  if (done || done.error().code == Errc::not_found) {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(uid);
    if (at != entries_.end()) at->second.written = status.devices;
    if (done) complaint_.clear();
    back_off_ = {};
    failures_ = 0;
    return options_.interval;
  }
  if (++failures_ >= kSilentFailures && complaint_ != done.error().text) {
    complaint_ = done.error().text;
    log_.warning("the status of a claim cannot be written, trying again",
                 {{"claim", status.claim.text()}, {"reason", complaint_}, {"id", done.error().id_text()}});
  }
  back_off_ = std::min(std::max(options_.retry, back_off_ * 2), options_.retry_most);
  return back_off_;
}

}  // namespace vfrail::plugin
