#include "plugin/service/kubelet/pod_resources.h"

#include "plugin/service/kubelet/kubelet_call.h"
#include "plugin/service/kubelet/pod_devices.h"
#include "proto/podresources_v1.grpc.pb.h"

#include <optional>
#include <utility>

namespace vfrail::plugin {

namespace {

// A node with 500 pods of ten containers answers 2 MiB at most.
constexpr int kMaxAnswerBytes = 16 << 20;
}  // namespace

std::string pod_resources_socket(const std::string& kubelet_root) {
  return kubelet_root + "/pod-resources/kubelet.sock";
}

struct PodResourcesCall::State {
  KubeletCall<v1::PodResourcesLister, v1::ListPodResourcesRequest, v1::ListPodResourcesResponse> call;
};

PodResourcesCall::PodResourcesCall(const Request& request, std::function<void(Result<DevicesInUse>)> done) {
  state_.reset(new State{{request.socket,
                          {.time = request.timeout, .answer_bytes = kMaxAnswerBytes},
                          v1::ListPodResourcesRequest(),
                          [](auto& stub, auto* context, auto* asked, auto* answer, auto ready) {
                            stub.async()->List(context, asked, answer, std::move(ready));
                          },
                          [done = std::move(done), wanted = request.resources](
                              const grpc::Status& status, const v1::ListPodResourcesResponse& answer) {
                            if (status.ok()) {
                              done(read_devices_in_use(answer, wanted));
                            } else {
                              done(call_error("pod-resources List", status));
                            }
                          }}});
}

PodResourcesCall::~PodResourcesCall() = default;

std::optional<std::chrono::steady_clock::time_point> PodResourcesCall::cancel_overdue(
    std::chrono::steady_clock::time_point now) {
  return state_->call.cancel_overdue(now);
}

Result<DevicesInUse> list_pod_resources(const PodResourcesCall::Request& request) {
  std::optional<Result<DevicesInUse>> out;
  // The call's destructor waits, but it also cancels.
  std::mutex mutex;
  std::condition_variable changed;
  const PodResourcesCall call(request, [&](Result<DevicesInUse> answer) {
    const std::lock_guard lock(mutex);
    out = std::move(answer);
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return out.has_value(); });
  return *std::move(out);
}

}  // namespace vfrail::plugin
