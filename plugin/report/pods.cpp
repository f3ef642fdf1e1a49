#include "plugin/report/pods.h"

#include "common/files.h"
#include "common/json.h"
#include "common/text.h"
#include "plugin/match/units.h"

#include <algorithm>
#include <filesystem>

namespace vfrail {

namespace {

// As cni/record writes it: the configuration that a record holds may have 1 MiB, and escapes double it.
constexpr size_t kMaxRecordBytes = 3 << 20;

// The value in "K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0", the CNI_ARGS of the attachment.
std::string argument(const std::string& cni_args, const std::string& name) {
  for (const std::string& pair : split(cni_args, ";")) {
    if (pair.starts_with(name + "=")) return pair.substr(name.size() + 1);
  }
  return "";
}

// "STATE/devices/DEVICE" is a link to the name of its attachment, whose record is the file of that name.
std::optional<PodUse> read_record(const std::string& cni_state_dir, const std::string& device) {
  const auto attachment = SysRoot(cni_state_dir).link_name("devices/" + device).or_none();
  if (!attachment) return std::nullopt;
  const auto text = read_file(cni_state_dir + "/attachments/" + *attachment + ".json", kMaxRecordBytes);
  if (!text || !*text) return std::nullopt;
  const auto record = Json::parse(**text, kMaxRecordBytes);
  if (!record) return std::nullopt;
  const auto text_of = [&](const char* key) {
    const Json* value = record->find(key);
    return value == nullptr || value->as_text() == nullptr ? std::string() : *value->as_text();
  };
  const std::string arguments = text_of("cniArgs");
  return PodUse{argument(arguments, "K8S_POD_NAMESPACE"), argument(arguments, "K8S_POD_NAME"),
                text_of("containerId"), PodUse::Source::record};
}

}  // namespace

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

void add_attached(const std::string& cni_state_dir, const Inventory& inventory, PodsById& out) {
  for (const PciFunction& function : inventory.functions) {
    const std::string id = function.id.text();
    if (!function.attached || out.contains(id)) continue;
    // A record that only root can read: a pod has the device, but it is unknown which.
    out[id].push_back(read_record(cni_state_dir, id).value_or(PodUse{.source = PodUse::Source::record}));
  }
}

}  // namespace vfrail
