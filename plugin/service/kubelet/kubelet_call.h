// KubeletCall: one unary call to a gRPC server of kubelet, made on gRPC's threads. Destroying it cancels the
// call and waits for its end. Never retries, and never decides what an answer means.
#pragma once

#include "common/errors/error_id.h"
#include "common/result.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <grpcpp/grpcpp.h>

namespace vfrail::plugin {

struct KubeletCallLimits {
  std::chrono::milliseconds time{5000};
  int answer_bytes = 4 << 20;
};

template <class Service, class Question, class Answer>
class KubeletCall {
  // gRPC's own deadline comes first, with its own words.
  static constexpr std::chrono::seconds kPatience{1};

 public:
  using Stub = typename Service::Stub;
  // How the generated code starts the call: `ready` is to be passed on.
  using Start = std::function<void(Stub& stub, grpc::ClientContext* context, const Question* question,
                                   Answer* answer, std::function<void(grpc::Status)> ready)>;
  // Called once, on a gRPC thread.
  using Done = std::function<void(const grpc::Status& status, const Answer& answer)>;

  KubeletCall(const std::string& socket, const KubeletCallLimits& limits, Question question,
              const Start& start, Done done)
      : question_(std::move(question)), finish_(std::make_shared<Finish>()) {
    grpc::ChannelArguments arguments;
    // A connection of its own each time: gRPC would make a shared one wait after a failure.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
    arguments.SetMaxReceiveMessageSize(limits.answer_bytes);
    channel_ = grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
    stub_ = Service::NewStub(channel_);
    context_.set_deadline(std::chrono::system_clock::now() + limits.time);
    overdue_at_ = std::chrono::steady_clock::now() + limits.time + kPatience;
    start(*stub_, &context_, &question_, &answer_,
          [this, finish = finish_, done = std::move(done)](const grpc::Status& status) {
            done(status, answer_);
            const std::lock_guard lock(finish->mutex);
            finish->finished = true;
            finish->changed.notify_all();
          });
  }
  KubeletCall(const KubeletCall&) = delete;
  KubeletCall& operator=(const KubeletCall&) = delete;

  ~KubeletCall() {
    context_.TryCancel();
    wait();
  }

  // gRPC waits for its deadline by the time of day, which can be set back. Cancels a call that has taken
  // longer by the clock that nobody sets; returns when to ask again, no value once it is cancelled.
  std::optional<std::chrono::steady_clock::time_point> cancel_overdue(
      std::chrono::steady_clock::time_point now) {
    if (now < overdue_at_) return overdue_at_;
    context_.TryCancel();
    return std::nullopt;
  }

  // Until `done` has returned.
  void wait() {
    std::unique_lock lock(finish_->mutex);
    finish_->changed.wait(lock, [this] { return finish_->finished; });
  }

 private:
  // What the callback may touch; it can return a moment after the call is destroyed.
  struct Finish {
    std::mutex mutex;
    std::condition_variable changed;
    bool finished = false;
  };

  // Freed by the thread that destroys the call: gRPC's callback threads end with the last channel that uses
  // them, and one that frees that channel itself would wait for its own end (CallbackAlternativeCQ::Unref()
  // in gRPC 1.51).
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> stub_;
  std::chrono::steady_clock::time_point overdue_at_;
  grpc::ClientContext context_;
  const Question question_;
  Answer answer_;
  std::shared_ptr<Finish> finish_;
};

// The error of a call that did not work, in words: "kubelet's Register: ...".
inline Error call_error(const std::string& what, const grpc::Status& status) {
  // Cancelled: by cancel_overdue(), or nobody reads this.
  const bool cancelled = status.error_code() == grpc::StatusCode::CANCELLED;
  const bool late = cancelled || status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  Error out{late ? Errc::timeout : Errc::peer, 0,
            "kubelet's " + what + ": " + (cancelled ? "no answer in time" : status.error_message())};
  if (late || status.error_code() == grpc::StatusCode::UNAVAILABLE)
    out.specific = ErrorId::kubelet_not_reached;
  return out;
}

}  // namespace vfrail::plugin
