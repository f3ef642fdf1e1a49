// DeviceOffer: the devices that `vfrail serve` wants to have published, as it sends them, and which of them
// wait because the device plugin still offers their resource. Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::kube {

struct DeviceOffer {
  std::string driver;
  std::vector<std::string> resources;  // the extended resources that are allocated by DRA on this node
  Json::Array devices;                 // entries of ResourceSlice.spec.devices, in the order of allocation
};

// The body of PUT /devices.
Result<DeviceOffer> read_offer(std::string_view body, size_t limit_bytes);

// What matters of the Node.
struct NodeFacts {
  std::string uid;
  std::set<std::string> offered;  // extended resources of which status.allocatable is more than zero
};

NodeFacts read_node(const Json& node);

struct AllowedDevices {
  Json::Array devices;
  std::optional<Error> held_back = {};  // why some are missing, or were not to be there
};

// While a resource is allocatable the scheduler takes it from the device plugin, and the same device would be
// allocated twice. So its devices are not published; those in `published` (names) stay, because pods may have
// them.
AllowedDevices hold_back(const DeviceOffer& offer, Json::Array checked, const NodeFacts& node,
                         const std::set<std::string>& published);

}  // namespace vfrail::kube
