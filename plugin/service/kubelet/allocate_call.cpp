#include "plugin/service/kubelet/allocate_call.h"

#include <chrono>
#include <utility>

namespace vfrail::plugin {

AllocateCall::AllocateCall(const grpc::CallbackServerContext& context, ReturnPatience& patience, Work work)
    : work_(std::move(work)),
      wait_(patience,
            {.prepare = work_.prepare,
             .is_cancelled = [&context] { return context.IsCancelled(); },
             .after =
                 [this](std::chrono::milliseconds time, std::function<void()> then) {
                   // Another one each time: this may run in the callback of the one before.
                   alarm_ = std::make_unique<grpc::Alarm>();
                   alarm_->Set(std::chrono::system_clock::now() + time,
                               [then = std::move(then)](bool) { then(); });
                 },
             .on_wait = work_.on_wait,
             .done = [this](ReturnWait::Prepared prepared) { Finish(work_.answer(std::move(prepared))); }}) {}

AllocateCall* AllocateCall::begin(const grpc::CallbackServerContext& context, ReturnPatience& patience,
                                  Work work) {
  auto* call = new AllocateCall(context, patience, std::move(work));
  call->wait_.begin();
  return call;
}

}  // namespace vfrail::plugin
