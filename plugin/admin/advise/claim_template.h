// The ResourceClaimTemplate of an example: devices of a resource, and GPUs below the same PCIe roots. Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "plugin/device/config/config.h"

#include <cstdint>
#include <string>

namespace vfrail::plugin {

// The class of NVIDIA's driver for GPUs.
inline constexpr const char* kGpuClass = "gpu.nvidia.com";

struct ClaimedDevices {
  std::string device_class;  // of the resource: "hostdev"
  uint32_t devices = 1;
  uint32_t gpus = 0;
  bool bundle = false;  // a device stands for one of each rail, so that none is nearest to a GPU
};

// Whether each device has its GPUs below its own root.
bool is_aligned(const ClaimedDevices& claimed);
// Errc::invalid: more than a claim can have.
Result<Json> make_claim_template(const std::string& name, const ClaimedDevices& claimed);

}  // namespace vfrail::plugin
