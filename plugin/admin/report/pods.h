// Which pod has which device, by kubelet's answer and by vfrail-cni's records. Reads; never guesses.
#pragma once

#include "common/errors/warning.h"
#include "common/node/attachments.h"
#include "common/result.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/pools.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct PodUse {
  std::string pod_namespace = {};
  std::string pod = {};        // empty: a container without a known pod
  std::string container = {};  // its name in the pod, or its id in a record
  enum class Source : uint8_t { kubelet, record, claim };
  Source source = Source::kubelet;
  std::string claim = {};  // the ResourceClaim that it has the device by, in the pod's namespace; empty: none
  std::string request = {};  // of that claim

  std::string text() const;  // "team/train-0"; "container 4f6c93ab12cd"
  bool operator==(const PodUse&) const = default;
};

// Pods by the ids of functions; several pods can have a shared device.
using PodsById = std::map<std::string, std::vector<PodUse>>;

// Asks kubelet which pod has which device; gets the kubelet's folder.
using AskKubelet = std::function<Result<DevicesInUse>(const std::string& kubelet_root)>;

struct PodSources {
  const std::string& root;  // of the node's files: records, and whether its kubelet can be asked
  const std::string& kubelet_root;
  const AskKubelet& ask_kubelet;
};
// Which pods have the devices: by kubelet, if this is a live node that has one, and by the records for
// devices for which kubelet names no pod. What cannot be asked is a warning.
PodsById find_pods(const PodSources& sources, const Pools& pools, const Inventory& inventory,
                   std::vector<Warning>& warnings);

// Adds what kubelet has allocated of the pools. Not of units that stand for every device of a pool, because
// they show no device.
void add_allocated(const Pools& pools, const DevicesInUse& in_use, PodsById& out);
// Adds what vfrail-cni has attached, of devices for which kubelet names no pod.
void add_attached(const Attachments& attachments, const Inventory& inventory, PodsById& out);

}  // namespace vfrail::plugin
