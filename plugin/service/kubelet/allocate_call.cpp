#include "plugin/service/kubelet/allocate_call.h"

#include <chrono>
#include <utility>

namespace vfrail::plugin {

AllocateCall::AllocateCall(const grpc::CallbackServerContext& context, SteadyTimer& timer,
                           ReturnPatience& patience, Work work)
    : work_(std::move(work)),
      wait_(patience,
            {.prepare = work_.prepare,
             .is_cancelled = [this, &context] { return timer_failed_ || context.IsCancelled(); },
             .after =
                 [this, &timer](std::chrono::milliseconds time, const std::function<void()>& then) {
                   if (timer.after(time, then)) return;
                   timer_failed_ = true;  // the next try is the last
                   then();
                 },
             .on_wait = work_.on_wait,
             .done = [this](ReturnWait::Prepared prepared) { Finish(work_.answer(std::move(prepared))); }}) {}

AllocateCall* AllocateCall::begin(const grpc::CallbackServerContext& context, SteadyTimer& timer,
                                  ReturnPatience& patience, Work work) {
  auto* call = new AllocateCall(context, timer, patience, std::move(work));
  call->wait_.begin();
  return call;
}

}  // namespace vfrail::plugin
