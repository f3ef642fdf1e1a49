#include "plugin/resource.h"

#include <algorithm>
#include <utility>

namespace vfrail {

namespace {

// How long calls that are under way may go on when the socket is made again.
constexpr std::chrono::milliseconds kReopenPatience{200};

}  // namespace

void Backoff::failed(Time now) {
  next_ = now + delay_;
  delay_ = std::min(delay_ * 2, kLongest);
}

void Backoff::reset() {
  delay_ = kFirst;
  next_ = {};
}

Resource::Resource(Pool first, Options options, Log& log)
    : options_(std::move(options)),
      log_(log),
      service_(std::move(first),
               Service::Options{
                   .endpoint = options_.socket,
                   .places = options_.places,
                   .counters = options_.counters,
                   .on_verdict =
                       [this](RegistrationVerdict verdict) { options_.on_verdict(0, std::move(verdict)); }},
               log),
      endpoint_(service_) {}

std::optional<Time> Resource::look(Time now, bool kubelet_is_there) {
  if (const auto later = keep_open(now)) return later;
  if (displaced_ || options_.registration == Registration::watcher) return std::nullopt;
  return keep_registered(now, kubelet_is_there);
}

// Nothing if the server is open, or has made room for another instance; else when to try again.
std::optional<Time> Resource::keep_open(Time now) {
  if (endpoint_.is_open()) {
    switch (endpoint_.look()) {
      case Endpoint::Socket::ours:
        displaced_ = false;
        return std::nullopt;
      case Endpoint::Socket::foreign:
        // In a rolling update the next instance is right. Its end leaves the path free, and we come back.
        if (!displaced_) log_.warning("another process took the socket over", {{"socket", options_.socket}});
        displaced_ = true;
        return std::nullopt;
      case Endpoint::Socket::gone:
        break;
    }
    if (now < opening_.next()) return opening_.next();
    log_.warning("the socket was removed, making it again", {{"socket", options_.socket}});
  }
  if (now < opening_.next()) return opening_.next();
  open(now);
  if (!endpoint_.is_open()) return opening_.next();
  return std::nullopt;
}

void Resource::open(Time now) {
  call_.reset();
  registered_ = false;
  displaced_ = false;
  endpoint_.close(kReopenPatience);
  const auto opened = endpoint_.open();
  // Also after a success, until kubelet has registered it: whoever removes sockets in a loop gets no busy
  // loop.
  opening_.failed(now);
  registering_.reset();
  if (!opened) {
    complain("cannot serve the resource", opened.error().text);
    return;
  }
  log_.info("serving", {{"resource", name()},
                        {"devices", std::to_string(pool()->devices.size())},
                        {"socket", options_.socket}});
}

std::optional<Time> Resource::keep_registered(Time now, bool kubelet_is_there) {
  // Without kubelet's socket there is nobody to call; its creation is noticed.
  if (registered_ || call_ || !kubelet_is_there) return std::nullopt;
  if (now < registering_.next()) return registering_.next();
  const uint64_t attempt = ++attempt_;
  call_ = std::make_unique<RegisterCall>(
      RegisterCall::Request{
          .kubelet_socket = options_.kubelet_socket, .endpoint = options_.socket, .resource = name()},
      [note = options_.on_verdict, attempt](const Result<>& answer) {
        note(attempt, {.registered = bool(answer), .reason = answer ? "" : answer.error().text});
      });
  return std::nullopt;
}

void Resource::kubelet_came() {
  if (options_.registration == Registration::watcher) return;
  call_.reset();
  registered_ = false;
  opening_.reset();
  registering_.reset();
}

void Resource::verdict(uint64_t attempt, const RegistrationVerdict& verdict, Time now) {
  const bool by_call = attempt != 0;
  if (by_call && attempt != attempt_) return;  // a call that was given up since
  if (by_call) call_.reset();
  if (options_.counters != nullptr) {
    options_.counters->registered(name(), verdict.registered ? Outcome::ok : Outcome::failed);
  }
  registered_ = verdict.registered;
  if (verdict.registered) {
    opening_.reset();
    registering_.reset();
    complaint_.clear();
    log_.info("registered with kubelet", {{"resource", name()}, {"by", by_call ? "call" : "plugin watcher"}});
    return;
  }
  complain("kubelet did not register the resource", verdict.reason);
  if (by_call) {
    registering_.failed(now);
  } else {
    // The plugin watcher does not ask again until it sees the socket appear again.
    endpoint_.close(kReopenPatience);
  }
}

ResourceStatus Resource::status() const {
  return {.pool = pool(),
          .serving = endpoint_.is_open() && !displaced_,
          .registered = registered_,
          .trouble = complaint_};
}

void Resource::close(std::chrono::milliseconds patience) {
  call_.reset();
  endpoint_.close(patience);
}

void Resource::complain(std::string_view what, const std::string& reason) {
  if (reason == complaint_) {
    log_.debug(what, {{"resource", name()}, {"reason", reason}});
  } else {
    log_.error(what, {{"resource", name()}, {"reason", reason}});
    complaint_ = reason;
  }
}

}  // namespace vfrail
