#include "plugin/admin/advise/claim_template.h"

#include "common/errors/error_id.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

namespace {

// A claim has no more requests, and no more devices (DeviceRequestsMaxSize, AllocationResultsMaxSize).
constexpr uint32_t kMostDevices = 32;

constexpr const char* kPcieRoot = "resource.kubernetes.io/pcieRoot";

Json request_of(const std::string& name, const std::string& device_class, uint32_t count) {
  Json exactly = Json::object().set("deviceClassName", device_class);
  if (count > 1) exactly.set("count", count);
  return Json::object().set("name", name).set("exactly", std::move(exactly));
}

// So many parts of the claim, each with a root of its own.
uint32_t parts_of(const ClaimedDevices& claimed) {
  return is_aligned(claimed) ? std::min(claimed.devices, claimed.gpus) : 1;
}

}  // namespace

bool is_aligned(const ClaimedDevices& claimed) {
  if (claimed.bundle || claimed.gpus == 0) return false;
  return std::max(claimed.devices, claimed.gpus) % std::min(claimed.devices, claimed.gpus) == 0;
}

Result<Json> make_claim_template(const std::string& name, const ClaimedDevices& claimed) {
  if (claimed.devices + claimed.gpus > kMostDevices)
    return Error{Errc::invalid, 0,
                 "--claim: " + std::to_string(claimed.devices) + " devices and " +
                     std::to_string(claimed.gpus) + " GPUs are more than a ResourceClaim has (" +
                     std::to_string(kMostDevices) + ")",
                 ErrorId::option_invalid};
  const uint32_t parts = parts_of(claimed);
  Json requests = Json::array();
  Json constraints = Json::array();
  for (uint32_t i = 0; i < parts; ++i) {
    const std::string number = parts > 1 ? "-" + std::to_string(i) : "";
    if (claimed.gpus > 0) requests.push(request_of("gpu" + number, kGpuClass, claimed.gpus / parts));
    requests.push(request_of("nic" + number, claimed.device_class, claimed.devices / parts));
    if (is_aligned(claimed))
      constraints.push(Json::object()
                           .set("requests", Json(std::vector<std::string>{"gpu" + number, "nic" + number}))
                           .set("matchAttribute", kPcieRoot));
  }
  Json devices = Json::object().set("requests", std::move(requests));
  if (!constraints.as_array()->empty()) devices.set("constraints", std::move(constraints));
  return Json::object()
      .set("apiVersion", "resource.k8s.io/v1")
      .set("kind", "ResourceClaimTemplate")
      .set("metadata", Json::object().set("name", name))
      .set("spec", Json::object().set("spec", Json::object().set("devices", std::move(devices))));
}

}  // namespace vfrail::plugin
