// AllocateCall: an Allocate as gRPC's reactor, with a timer for the wait of allocate/return_wait.h.
#pragma once

#include "plugin/device/allocate/return_wait.h"
#include "plugin/service/kubelet/steady_timer.h"

#include <functional>

#include <grpcpp/grpcpp.h>

namespace vfrail::plugin {

// Owns itself, until gRPC has sent the answer.
class AllocateCall final : public grpc::ServerUnaryReactor {
 public:
  struct Work {
    std::function<ReturnWait::Prepared()> prepare;
    std::function<void()> on_wait;
    // Fills the response; the status is the call's.
    std::function<grpc::Status(ReturnWait::Prepared)> answer;
  };

  // `context` is gRPC's; `timer` and `patience` outlive the call.
  static AllocateCall* begin(const grpc::CallbackServerContext& context, SteadyTimer& timer,
                             ReturnPatience& patience, Work work);

  void OnDone() override { delete this; }

 private:
  AllocateCall(const grpc::CallbackServerContext& context, SteadyTimer& timer, ReturnPatience& patience,
               Work work);

  const Work work_;
  bool timer_failed_ = false;
  ReturnWait wait_;
};

}  // namespace vfrail::plugin
