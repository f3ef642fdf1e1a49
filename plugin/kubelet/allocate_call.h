// AllocateCall: an Allocate that waits a moment for a device to return from the pod before. A pod that is
// deleted by force is gone for kubelet at once, and its device on the way to the host for another second or
// more; a pod that is refused meanwhile stays failed. Blocks no thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

namespace vfrail::plugin {

// How long the calls of one resource wait. Kubelet admits no other pod meanwhile, so after a wait in vain
// none waits for a minute.
class ReturnPatience {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // 0: none waits.
  explicit ReturnPatience(std::chrono::milliseconds most) : most_(most) {}

  // When a call that begins now has waited long enough. No value: it does not wait.
  std::optional<Time> end(Time now) const;
  void waited_in_vain(Time now);

 private:
  const std::chrono::milliseconds most_;
  std::atomic<Time::rep> none_before_{Time::min().time_since_epoch().count()};
};

// Owns itself, until gRPC has sent the answer.
class AllocateCall final : public grpc::ServerUnaryReactor {
 public:
  // One try. No value: a device is not in the host yet, try again. `last`: it will not be.
  using Attempt = std::function<std::optional<grpc::Status>(bool last)>;

  // `context` is gRPC's, and `patience` outlives the call.
  static AllocateCall* begin(const grpc::CallbackServerContext& context, ReturnPatience& patience,
                             Attempt attempt);

  void OnDone() override { delete this; }

 private:
  AllocateCall(const grpc::CallbackServerContext& context, ReturnPatience& patience, Attempt attempt);
  void attempt();

  const grpc::CallbackServerContext& context_;
  ReturnPatience& patience_;
  const Attempt attempt_;
  const std::optional<ReturnPatience::Time> end_;
  std::unique_ptr<grpc::Alarm> alarm_;
};

}  // namespace vfrail::plugin
