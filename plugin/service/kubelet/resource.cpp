#include "plugin/service/kubelet/resource.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/device/prefer/preferred.h"
#include "plugin/service/kubelet/socket_owner.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

namespace {

// How long calls that are under way may go on when the socket is created again.
constexpr std::chrono::milliseconds kReopenTimeout{200};
// Until an empty list is on its way to kubelet; and how often that is checked.
constexpr std::chrono::milliseconds kLeaveTimeout{1000};
constexpr std::chrono::milliseconds kLeaveStep{10};
// A kubelet that ends the stream this often in this time, and does not restart, has been given another
// endpoint for the resource.
constexpr size_t kLossesOfARival = 3;
constexpr std::chrono::minutes kLossMemory{1};

constexpr const char* kRivalHint =
    "another DaemonSet, or an older one, that serves this resource on this node";

}  // namespace

void Backoff::failed(Time now) {
  next_ = now + delay_;
  delay_ = std::min(delay_ * 2, kLongest);
}

void Backoff::reset() {
  delay_ = kFirst;
  next_ = {};
}

Resource::Resource(PublishedPool first, Options options, Log& log)
    : options_(std::move(options)),
      log_(log),
      service_(std::move(first),
               Service::Options{
                   .endpoint = options_.socket,
                   .places = options_.places,
                   .counters = options_.counters,
                   .return_patience = options_.return_patience,
                   .on_registration =
                       [this](RegistrationResult result) { options_.on_registration(0, std::move(result)); },
                   .on_stream_end = options_.on_stream_end},
               log),
      endpoint_(service_, options_.memory) {}

std::optional<Time> Resource::run_due(Time now, bool kubelet_is_there) {
  if (leave_by_) return leave(now);
  if (const auto later = keep_open(now)) return later;
  if (displaced_) return std::nullopt;
  if (const auto later = keep_registered(now)) return later;
  if (options_.registration == Registration::watcher) return std::nullopt;
  return keep_registered(now, kubelet_is_there);
}

bool Resource::publish(PublishedPool next) {
  leave_by_.reset();
  const bool before = prefers();
  const bool changed = service_.publish(std::move(next));
  if (prefers() == before || !endpoint_.is_open()) return changed;
  log_.info("registering again, because kubelet learns only then whether to ask for preferred devices",
            {{"resource", name()}});
  cancel_call();
  registered_ = false;
  // The plugin watcher notices a new socket only; run_due() creates it.
  if (options_.registration == Registration::watcher) endpoint_.close(kReopenTimeout);
  return changed;
}

bool Resource::prefers() const { return preference_of(*pool()) != Preference::none; }

void Resource::retire(Time now) {
  if (leave_by_) return;
  leave_by_ = now + kLeaveTimeout;
  service_.publish(Pool{.config = pool()->config, .devices = {}, .gpus = {}});
}

std::optional<Time> Resource::leave(Time now) {
  if (retired_) return std::nullopt;
  if (!service_.all_sent() && now < *leave_by_) return now + kLeaveStep;
  close(kReopenTimeout);
  retired_ = true;
  return std::nullopt;
}

// A kubelet whose stream broke counts every device as unhealthy, and opens a new one only after a
// registration.
std::optional<Time> Resource::keep_registered(Time now) {
  if (!registered_ || service_.streams() > 0) {
    stream_lost_at_.reset();
    return std::nullopt;
  }
  if (!stream_lost_at_) stream_lost_at_ = now;
  if (const Time end = *stream_lost_at_ + options_.stream_patience; now < end) return end;
  // A kubelet that starts looks into the folder once and registers at once what is there; a socket that comes
  // later waits for its next look, up to a second, in which pods are refused. So it stays as it is while no
  // kubelet runs.
  if (options_.registration == Registration::watcher && kubelet_is_down()) {
    stream_lost_at_ = now;
    return now + options_.stream_patience;
  }
  note_lost_stream(now);
  stream_lost_at_.reset();
  registered_ = false;
  // The plugin watcher notices a new socket only. Once: a kubelet that is not there finds it later.
  if (options_.registration == Registration::legacy) return std::nullopt;
  endpoint_.close(kReopenTimeout);
  return keep_open(now);
}

// What a kubelet that was killed leaves at its socket's path, nobody serves. Without such a file it is not
// known.
bool Resource::kubelet_is_down() const {
  return identify(options_.kubelet_socket).exists() && !find_socket_owner(options_.kubelet_socket);
}

// Usually kubelet has restarted. Two plugins that register the same resource in turn take it from each other
// in the same way.
void Resource::note_lost_stream(Time now) {
  std::erase_if(lost_streams_, [&](Time then) { return now - then > kLossMemory; });
  if (lost_streams_.empty()) rival_reported_ = false;
  lost_streams_.push_back(now);
  if (lost_streams_.size() < kLossesOfARival || rival_reported_) {
    log_.info("kubelet closed the device stream, registering again", {{"resource", name()}});
    return;
  }
  rival_reported_ = true;
  const size_t slash = options_.socket.rfind('/');
  const auto others =
      list_served_sockets(options_.socket.substr(0, slash), options_.socket.substr(slash + 1));
  log_.warning("kubelet repeatedly closed the stream of this resource; another plugin probably registers it",
               {{"resource", name()},
                {"check", kRivalHint},
                {"sockets", others.empty() ? "no other in the folder" : joined(others, ", ")},
                {"id", id_text(ErrorId::resource_contested)}});
}

// No value if the server is open, or has yielded to another instance; else when to try again.
std::optional<Time> Resource::keep_open(Time now) {
  if (endpoint_.is_open()) {
    switch (endpoint_.socket()) {
      case Endpoint::Socket::ours:
        displaced_ = false;
        return std::nullopt;
      case Endpoint::Socket::foreign:
        // In a rolling update the next instance is right. Its end leaves the path free, and this one serves
        // again.
        if (!displaced_) yield_socket();
        return std::nullopt;
      case Endpoint::Socket::gone:
        break;
    }
    if (now < opening_.next()) return opening_.next();
    // With legacy registration kubelet removes all sockets when it starts (cleanup of its device manager).
    if (options_.registration == Registration::legacy)
      log_.info("the socket was removed; creating it again",
                {{"resource", name()}, {"socket", options_.socket}});
    else
      log_.warning(
          "the socket was removed by another process; creating it again",
          {{"resource", name()}, {"socket", options_.socket}, {"id", id_text(ErrorId::resource_contested)}});
  }
  if (now < opening_.next()) return opening_.next();
  open(now);
  if (!endpoint_.is_open()) return opening_.next();
  return std::nullopt;
}

void Resource::yield_socket() {
  displaced_ = true;
  const std::string by = find_socket_owner(options_.socket).value_or("a process that has ended");
  complaint_ = "its socket belongs to " + by + "; check for " + kRivalHint;
  log_.warning("another process serves the resource now, waiting until its socket goes",
               {{"resource", name()},
                {"socket", options_.socket},
                {"by", by},
                {"check", kRivalHint},
                {"id", id_text(ErrorId::resource_contested)}});
}

void Resource::open(Time now) {
  cancel_call();
  registered_ = false;
  displaced_ = false;
  endpoint_.close(kReopenTimeout);
  const auto other = find_socket_owner(options_.socket);
  const auto opened = endpoint_.open();
  // Also after a success, until kubelet has registered it, so that somebody who keeps removing sockets does
  // not cause a busy loop.
  opening_.failed(now);
  registering_.reset();
  if (!opened) {
    complain("cannot serve the resource", opened.error().text, opened.error().id());
    return;
  }
  log_.info("serving", {{"resource", name()},
                        {"devices", std::to_string(pool()->devices.size())},
                        {"socket", options_.socket}});
  // As in a rolling update. If that instance creates its socket again, this one yields.
  if (other) {
    log_.info("another process has served the resource until now",
              {{"resource", name()}, {"by", *other}, {"check", kRivalHint}});
  }
}

std::optional<Time> Resource::keep_registered(Time now, bool kubelet_is_there) {
  // Without kubelet's socket there is nobody to call; its creation raises an event.
  if (call_) return call_->cancel_overdue(now);
  if (registered_ || !kubelet_is_there) return std::nullopt;
  if (now < registering_.next()) return registering_.next();
  const uint64_t attempt = ++attempt_;
  call_ = std::make_unique<RegisterCall>(
      RegisterCall::Request{.kubelet_socket = options_.kubelet_socket,
                            .endpoint = options_.socket,
                            .resource = name(),
                            .preferred_allocation = prefers()},
      [note = options_.on_registration, attempt](const Result<>& answer) {
        if (answer) return note(attempt, {.registered = true});
        const ErrorId id = answer.error().specific.value_or(ErrorId::registration_refused);
        note(attempt, {.registered = false, .reason = answer.error().text, .id = id});
      });
  return std::nullopt;
}

void Resource::kubelet_restarted() {
  lost_streams_.clear();
  stream_lost_at_.reset();  // this kubelet has all of the time
  if (options_.registration == Registration::watcher) return;
  cancel_call();
  registered_ = false;
  opening_.reset();
  registering_.reset();
}

// A kubelet that starts removes the socket of the one before, and creates its own a moment later.
void Resource::kubelet_left() { stream_lost_at_.reset(); }

// Its answer can be on its way already: it is void, too, or kubelet would keep what that call had registered.
void Resource::cancel_call() {
  call_.reset();
  ++attempt_;
}

void Resource::result(uint64_t attempt, const RegistrationResult& result, Time now) {
  const bool by_call = attempt != 0;
  if (by_call && attempt != attempt_) return;  // a call that was cancelled since
  if (by_call) call_.reset();
  if (options_.counters != nullptr) {
    options_.counters->registered(name(), result.registered ? Outcome::ok : Outcome::failed);
  }
  registered_ = result.registered;
  if (result.registered) {
    opening_.reset();
    registering_.reset();
    complaint_.clear();
    log_.info("registered with kubelet", {{"resource", name()}, {"by", by_call ? "call" : "plugin watcher"}});
    return;
  }
  complain("kubelet did not register the resource", result.reason, result.id);
  if (by_call) {
    registering_.failed(now);
  } else {
    // The plugin watcher does not ask again until it sees the socket appear again.
    endpoint_.close(kReopenTimeout);
  }
}

ResourceStatus Resource::status() const {
  return {.pool = pool(),
          .serving = endpoint_.is_open() && !displaced_,
          .registered = registered_,
          .trouble = complaint_};
}

void Resource::close(std::chrono::milliseconds patience) {
  cancel_call();
  endpoint_.close(patience);
}

void Resource::complain(std::string_view what, const std::string& reason, ErrorId id) {
  if (reason == complaint_) {
    log_.debug(what, {{"resource", name()}, {"reason", reason}, {"id", id_text(id)}});
  } else {
    log_.error(what, {{"resource", name()}, {"reason", reason}, {"id", id_text(id)}});
    complaint_ = reason;
  }
}

}  // namespace vfrail::plugin
