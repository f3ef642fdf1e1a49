#include "plugin/kubelet/pod_devices.h"

namespace vfrail {

namespace {

// A node has 110 pods by default and 500 at most in practice; a pool has 4096 devices at most.
constexpr size_t kMaxDevices = 65'536;

}  // namespace

DevicesInUse read_devices_in_use(const v1::ListPodResourcesResponse& answer,
                                 const std::set<std::string>& wanted) {
  DevicesInUse out;
  out.taken = std::chrono::steady_clock::now();
  size_t left = kMaxDevices;
  for (const v1::PodResources& pod : answer.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      for (const v1::ContainerDevices& devices : container.devices()) {
        if (!wanted.empty() && !wanted.contains(devices.resource_name())) continue;
        auto& known = out.resources[devices.resource_name()];
        for (const std::string& id : devices.device_ids()) {
          if (left == 0) return out;
          --left;
          known.emplace(id, PodContainer{pod.namespace_(), pod.name(), container.name()});
        }
      }
    }
  }
  return out;
}

}  // namespace vfrail
