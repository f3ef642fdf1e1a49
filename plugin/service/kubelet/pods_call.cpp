#include "plugin/service/kubelet/pods_call.h"

#include "plugin/service/kubelet/kubelet_call.h"
#include "proto/pods_v1alpha1.grpc.pb.h"

#include <mutex>
#include <utility>
#include <vector>

namespace vfrail::plugin {

namespace {

using Call = KubeletCall<v1alpha1::Pods, v1alpha1::GetPodRequest, v1alpha1::GetPodResponse>;

// What the calls share, on whichever threads they end.
class Collected {
 public:
  Collected(size_t calls, std::function<void(PodsCall::Answer)> done)
      : left_(calls), done_(std::move(done)) {}

  void take(const std::string& uid, const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND) answer_[uid] = status.ok();
    if (--left_ == 0) done_(std::move(answer_));
  }

 private:
  std::mutex mutex_;
  size_t left_;
  PodsCall::Answer answer_;
  const std::function<void(PodsCall::Answer)> done_;
};

}  // namespace

std::string pods_socket(const std::string& kubelet_root) { return kubelet_root + "/pods-api/pods-api.sock"; }

struct PodsCall::State {
  std::vector<std::unique_ptr<Call>> calls;
};

PodsCall::PodsCall(const Request& request, std::function<void(Answer)> done)
    : state_(std::make_unique<State>()) {
  std::vector<std::string> uids(request.uids.begin(), request.uids.end());
  uids.resize(std::min(uids.size(), kMaxPods));
  const auto collected = std::make_shared<Collected>(uids.size(), std::move(done));
  for (const std::string& uid : uids) {
    v1alpha1::GetPodRequest asked;
    asked.set_poduid(uid);
    state_->calls.push_back(std::make_unique<Call>(
        request.socket, KubeletCallLimits{.time = request.timeout}, std::move(asked),
        [](auto& stub, auto* context, auto* question, auto* answer, auto ready) {
          stub.async()->GetPod(context, question, answer, std::move(ready));
        },
        [collected, uid](const grpc::Status& status, const auto&) { collected->take(uid, status); }));
  }
}

PodsCall::~PodsCall() = default;

std::optional<std::chrono::steady_clock::time_point> PodsCall::cancel_overdue(
    std::chrono::steady_clock::time_point now) {
  std::optional<std::chrono::steady_clock::time_point> out;
  for (const auto& call : state_->calls) {
    const auto then = call->cancel_overdue(now);
    if (then && (!out || *then < *out)) out = then;
  }
  return out;
}

}  // namespace vfrail::plugin
