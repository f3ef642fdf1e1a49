#include "cni/in_pod/traffic/traffic_greeter.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>

namespace vfrail::pod {

namespace {

// Beyond that the one that has waited longest goes, so that no number of silent ones keeps a caller out.
constexpr size_t kMaxWaiting = 64;
// A signal, and the end of a wait, are noticed this late.
constexpr double kGreetingSlice = 0.2;

}  // namespace

Result<TrafficGreeter::Caller> TrafficGreeter::next(double until) {
  for (;;) {
    if (side_.clock.is_stopped()) return Error{Errc::peer, 0, "interrupted"};
    const double now = side_.clock.seconds();
    for (auto one = waiting_.begin(); one != waiting_.end();) {
      auto line = one->who.channel.take_line();
      if (line && !*line && now < one->until) {
        ++one;
        continue;
      }
      Waiting caller = std::move(*one);
      one = waiting_.erase(one);
      auto first = line && *line ? Result<std::string>(**std::move(line))
                   : line        ? Error{Errc::timeout, 0, "it has not said hello in time"}
                                 : Result<std::string>(std::move(line).error());
      const auto size = greet_caller(caller.who.channel, side_, first);
      if (size) return Caller{std::move(caller.who.channel), std::move(caller.who.peer), *size};
      say_(caller.who.peer + ": no test: " + size.error().text);
    }
    if (now >= until) return Error{Errc::timeout, 0, "nobody has called"};
    TRY(wait_for_any(until - now));
    TRY(accept_all());
  }
}

Result<> TrafficGreeter::wait_for_any(double seconds) const {
  std::vector<pollfd> all{{listener_.descriptor(), POLLIN, 0}};
  for (const Waiting& one : waiting_) all.push_back({one.who.channel.descriptor(), POLLIN, 0});
  const int milliseconds = static_cast<int>(std::min(seconds, kGreetingSlice) * 1000) + 1;
  if (::poll(all.data(), all.size(), milliseconds) < 0 && errno != EINTR)
    return Error::from_errno(errno, "poll");
  return {};
}

Result<> TrafficGreeter::accept_all() {
  while (auto accepted = TRY(listener_.accept(side_.clock))) {
    if (waiting_.size() == kMaxWaiting) waiting_.erase(waiting_.begin());
    waiting_.push_back({*std::move(accepted), side_.clock.seconds() + kHelloSeconds});
  }
  return {};
}

}  // namespace vfrail::pod
