#include "plugin/admin/report/pods.h"

#include "common/errors/error_id.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/device/match/units.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace vfrail::plugin {

namespace {

// A record that only root can read: a pod has the device, but which is not known.
PodUse recorded_use(const Attachments& attachments, const std::string& device) {
  PodUse out{.source = PodUse::Source::record};
  const auto owner = attachments.owner(device);
  if (!owner || !*owner) return out;
  out.container = (*owner)->container_id;
  const auto record = attachments.load(**owner);
  if (!record || !*record) return out;
  const RecordedPod pod = pod_of(**record);
  out.pod_namespace = pod.name_space;
  out.pod = pod.name;
  return out;
}

// Not without a configuration, which names the resources, and not of a captured tree.
void ask_for_pods(const PodSources& sources, const Pools& pools, PodsById& out,
                  std::vector<Warning>& warnings) {
  if (!is_live(sources.root) || pools.pools.empty()) return;
  const std::string folder = sources.kubelet_root + "/pod-resources";
  std::error_code failed;
  if (!std::filesystem::exists(folder, failed)) {
    if (failed)
      warnings.push_back(
          {"pod-resources API unavailable, pods are not shown: " + folder + ": " + failed.message(),
           ErrorId::pod_resources});
    return;
  }
  const auto in_use = sources.ask_kubelet(sources.kubelet_root);
  if (in_use)
    add_allocated(pools, *in_use, out);
  else
    warnings.push_back(
        {"pod-resources API unavailable, pods are not shown: " + in_use.error().text, in_use.error().id()});
}

}  // namespace

PodsById find_pods(const PodSources& sources, const Pools& pools, const Inventory& inventory,
                   std::vector<Warning>& warnings) {
  PodsById out;
  ask_for_pods(sources, pools, out, warnings);
  add_attached(Attachments(cni_state_dir(sources.root)), inventory, out);
  return out;
}

std::string PodUse::text() const {
  if (pod.empty()) return container.empty() ? "" : "container " + container.substr(0, 12);
  return pod_namespace.empty() ? pod : pod_namespace + "/" + pod;
}

void add_allocated(const Pools& pools, const DevicesInUse& in_use, PodsById& out) {
  for (const Pool& pool : pools.pools) {
    if (pool.config.unit == UnitKind::shared) continue;
    for (const Unit& unit : make_units(pool)) {
      const PodContainer* user = in_use.find(pool.resource(), unit.id);
      if (user == nullptr) continue;
      const PodUse use{user->pod_namespace, user->pod, user->container};
      for (const PoolDevice* device : unit.devices) {
        auto& uses = out[device->id()];
        if (std::find(uses.begin(), uses.end(), use) == uses.end()) uses.push_back(use);
      }
    }
  }
}

void add_attached(const Attachments& attachments, const Inventory& inventory, PodsById& out) {
  for (const DeviceFacts& function : inventory.functions) {
    const std::string id = function.id.text();
    if (function.attached && !out.contains(id)) out[id].push_back(recorded_use(attachments, id));
  }
}

}  // namespace vfrail::plugin
