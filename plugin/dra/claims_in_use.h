// Devices of claims among the devices in use: kubelet reports those of a ResourceClaim under the claim's
// name, and which resource they are of only this node's records say.
#pragma once

#include "common/container/claim_record.h"
#include "common/errors/warning.h"
#include "common/result.h"
#include "plugin/device/match/devices_in_use.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct ClaimRecords {
  std::vector<ClaimRecord> records;
  std::vector<Warning> unread;  // one that is damaged does not hide the others
};
// Of all claims that are prepared.
Result<ClaimRecords> read_claim_records(const std::string& run_dir);

// Moves the devices of these claims to their resources, as if kubelet's device plugin had them. Claims of
// other drivers stay as they are. Pure.
void resolve_claims(const std::vector<ClaimRecord>& records, DevicesInUse& in_use);

}  // namespace vfrail::plugin
