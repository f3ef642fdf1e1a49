// The client of kubelet's Pods API: whether kubelet still has a pod. Its pod-resources API names a pod no
// longer once the containers have ended, while the runtime may still be taking its network down; this one
// does, until the pod is gone.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace vfrail::plugin {

// Where kubelet serves it, 1.37 and later.
std::string pods_socket(const std::string& kubelet_root);

// A call for each pod, made on gRPC's threads. Destroying it cancels them and waits for their end.
class PodsCall {
 public:
  // Kubelet refuses more than ten calls at once (a bucket of ten, then 100 a second).
  static constexpr size_t kMaxPods = 8;

  struct Request {
    std::string socket;
    std::set<std::string> uids;  // at least one; of these the first kMaxPods
    std::chrono::milliseconds timeout{2000};
  };
  // UID -> whether kubelet has the pod. One is missing when kubelet did not say: an older kubelet, one that
  // is starting, or is not there.
  using Answer = std::map<std::string, bool>;
  // `done` is called once, on a gRPC thread.
  PodsCall(const Request& request, std::function<void(Answer)> done);
  PodsCall(const PodsCall&) = delete;
  PodsCall& operator=(const PodsCall&) = delete;
  ~PodsCall();
  // As KubeletCall::cancel_overdue(), for all of them.
  std::optional<std::chrono::steady_clock::time_point> cancel_overdue(
      std::chrono::steady_clock::time_point now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vfrail::plugin
