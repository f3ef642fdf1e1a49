#include "plugin/kube/node/device_offer.h"

#include "common/text.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/client/resource_type.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

// kubelet keeps the health of no more devices of one driver (cm/dra/healthinfo.go).
constexpr size_t kMaxDevices = 16'384;

}  // namespace

Result<DeviceOffer> read_offer(std::string_view body, size_t limit_bytes) {
  const Json parsed = TRY(Json::parse_object(body, limit_bytes), "the devices");
  ObjectReader reader(*parsed.as_object(), "");
  DeviceOffer out;
  out.driver = TRY(reader.text("driver")).value_or("");
  out.resources = TRY(reader.texts("resources")).value_or(std::vector<std::string>());
  const Json::Array* devices = TRY(reader.array("devices"));
  if (devices == nullptr) return Error{Errc::invalid, 0, "devices: must be a list, which may be empty"};
  if (devices->size() > kMaxDevices)
    return Error{Errc::invalid, 0,
                 "devices: " + std::to_string(devices->size()) + " are more than a node may have (" +
                     std::to_string(kMaxDevices) + ")"};
  out.devices = *devices;
  return out;
}

NodeFacts read_node(const Json& node) {
  NodeFacts out;
  out.uid = uid_of(node);
  const Json* allocatable = value_at(node, {"status", "allocatable"});
  if (allocatable == nullptr || allocatable->as_object() == nullptr) return out;
  for (const auto& [resource, quantity] : *allocatable->as_object()) {
    if (is_some(quantity)) out.offered.insert(resource);
  }
  return out;
}

AllowedDevices hold_back(const DeviceOffer& offer, Json::Array checked, const NodeFacts& node,
                         const std::set<std::string>& published) {
  std::vector<std::string> held;
  std::copy_if(offer.resources.begin(), offer.resources.end(), std::back_inserter(held),
               [&](const std::string& resource) { return node.offered.contains(resource); });
  AllowedDevices out{std::move(checked)};
  if (held.empty()) return out;
  // A device without the attribute may be of any resource.
  const auto waits = [&](const Json& device) {
    const std::string resource = text_at(device, {"attributes", "k8s.cni.cncf.io/resourceName", "string"});
    const bool is_held = resource.empty() || std::find(held.begin(), held.end(), resource) != held.end();
    return is_held && !published.contains(text_at(device, {"name"}));
  };
  std::erase_if(out.devices, waits);
  out.held_back =
      Error{Errc::busy, 0,
            "the device plugin still offers " + joined(held) +
                " on this node (status.allocatable of the Node is not 0); its devices are published "
                "when it no longer does: the resource must be served one way only"};
  return out;
}

}  // namespace vfrail::kube
