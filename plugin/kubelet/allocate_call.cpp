#include "plugin/kubelet/allocate_call.h"

#include <utility>

namespace vfrail::plugin {

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

AllocateCall::AllocateCall(const grpc::CallbackServerContext& context, ReturnPatience& patience,
                           Attempt attempt)
    : context_(context),
      patience_(patience),
      attempt_(std::move(attempt)),
      end_(patience.end(std::chrono::steady_clock::now())) {}

AllocateCall* AllocateCall::begin(const grpc::CallbackServerContext& context, ReturnPatience& patience,
                                  Attempt attempt) {
  auto* call = new AllocateCall(context, patience, std::move(attempt));
  call->attempt();
  return call;
}

void AllocateCall::attempt() {
  const auto now = std::chrono::steady_clock::now();
  const bool waited = alarm_ != nullptr;
  const bool last = !end_ || (waited && now >= *end_) || context_.IsCancelled();
  if (const auto status = attempt_(last)) {
    if (last && waited && !status->ok()) patience_.waited_in_vain(now);
    Finish(*status);
    return;
  }
  // Another one each time: this may run in the callback of the one before.
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(std::chrono::system_clock::now() + kPause, [this](bool) { attempt(); });
}

}  // namespace vfrail::plugin
