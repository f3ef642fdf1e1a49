#include "plugin/kubelet/pod_devices.h"

#include "common/container/allocated_unit.h"
#include "common/ids.h"

namespace vfrail::plugin {

namespace {

// A node has 110 pods by default and 500 at most in practice; a pool has 4096 devices at most.
constexpr size_t kMaxDevices = 65'536;

// Other plugins have ids without end: one for each MiB of a GPU's memory. Ours are devices
// (0000:03:02.1, mlx5_core.sf.4), units of bundles, and numbers of shared pools.
bool may_be_ours(const std::string& id) {
  const bool number = id.find_first_not_of("0123456789") == std::string::npos;
  return number || is_unit(id) || (id.find('.') != std::string::npos && DeviceId::parse(id));
}

}  // namespace

Result<DevicesInUse> read_devices_in_use(const v1::ListPodResourcesResponse& answer,
                                         const std::set<std::string>& wanted) {
  DevicesInUse out;
  out.taken = std::chrono::steady_clock::now();
  size_t ours = 0;
  size_t others = 0;
  for (const v1::PodResources& pod : answer.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      for (const v1::ContainerDevices& devices : container.devices()) {
        if (!wanted.empty() && !wanted.contains(devices.resource_name())) continue;
        auto& known = out.resources[devices.resource_name()];
        for (const std::string& id : devices.device_ids()) {
          if (wanted.empty() && !may_be_ours(id)) {
            if (++others > kMaxDevices) continue;
          } else if (++ours > kMaxDevices) {
            return Error{Errc::protocol, 0,
                         "kubelet's pod-resources List: more than " + std::to_string(kMaxDevices) +
                             " devices in use, which no node has"};
          }
          known.emplace(id, PodContainer{pod.namespace_(), pod.name(), container.name()});
        }
      }
    }
  }
  return out;
}

}  // namespace vfrail::plugin
