// ClaimedDevice: a device that a ResourceClaim has on this node, by the claim's record. Of a unit of several
// devices each is one.
#pragma once

#include "common/container/claim_record.h"
#include "common/ids.h"
#include "common/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

struct ClaimedDevice {
  DeviceId device;
  std::string claim;           // "team/train-0-nic-x7x2l"
  std::string resource;        // whose device it is
  std::optional<size_t> rail;  // of a unit of several devices: which one
};

// In the order of the claim's requests. Not the devices that pods share: those stay in the host.
Result<std::vector<ClaimedDevice>> devices_of_claim(const std::string& run_dir, const ClaimRecord& record);

}  // namespace vfrail
