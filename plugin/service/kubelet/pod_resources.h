// The client of kubelet's pod-resources API: which container has which device. Reads only, and never retries.
// A kubelet that is slow, refuses, or is not there is an error to the caller, who keeps what it knew before.
#pragma once

#include "common/result.h"
#include "plugin/device/match/devices_in_use.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace vfrail::plugin {

// Where kubelet serves it.
std::string pod_resources_socket(const std::string& kubelet_root);

// One List call to kubelet, made on gRPC's threads. Destroying it cancels it and waits for its end.
class PodResourcesCall {
 public:
  struct Request {
    std::string socket;
    std::set<std::string> resources;  // what is wanted of the answer; empty: all
    std::chrono::milliseconds timeout{2000};
  };
  // `done` is called once, on a gRPC thread. pod_devices.h reads the answer.
  PodResourcesCall(const Request& request, std::function<void(Result<DevicesInUse>)> done);
  PodResourcesCall(const PodResourcesCall&) = delete;
  PodResourcesCall& operator=(const PodResourcesCall&) = delete;
  ~PodResourcesCall();
  // As KubeletCall::cancel_overdue(): for the owner thread, before it waits.
  std::optional<std::chrono::steady_clock::time_point> cancel_overdue(
      std::chrono::steady_clock::time_point now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Makes the call and waits for its answer. Not for the owner thread of the daemon, which must not.
Result<DevicesInUse> list_pod_resources(const PodResourcesCall::Request& request);

}  // namespace vfrail::plugin
