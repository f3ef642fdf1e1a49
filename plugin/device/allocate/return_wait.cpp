#include "plugin/device/allocate/return_wait.h"

#include <utility>

namespace vfrail::plugin {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::minutes kNoneAfterVain{1};

}  // namespace

std::optional<ReturnPatience::Time> ReturnPatience::end(Time now) const {
  const bool none = most_.count() == 0 || now.time_since_epoch().count() < none_before_;
  return none ? std::nullopt : std::optional(now + most_);
}

void ReturnPatience::waited_in_vain(Time now) {
  none_before_ = (now + kNoneAfterVain).time_since_epoch().count();
}

ReturnWait::ReturnWait(ReturnPatience& patience, FrontEnd front_end)
    : patience_(patience), front_end_(std::move(front_end)), end_(patience.end(steady_clock::now())) {}

void ReturnWait::attempt() {
  const auto now = steady_clock::now();
  const bool last = !end_ || (waited_ && now >= *end_) || front_end_.is_cancelled();
  auto prepared = front_end_.prepare();
  if (!prepared && prepared.error().code == Errc::not_yet && !last) {
    if (!std::exchange(waited_, true)) front_end_.on_wait();
    front_end_.after(kPause, [this] { attempt(); });
    return;
  }
  if (waited_ && last && !prepared) patience_.waited_in_vain(now);
  front_end_.done(std::move(prepared));
}

}  // namespace vfrail::plugin
