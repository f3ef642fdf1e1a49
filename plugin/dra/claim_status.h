// ClaimStatus: what the status of a ResourceClaim says of our devices in it: for each that a pod has the
// interface, its addresses and that it is ready. A device is there from the end of vfrail-cni's ADD to its
// DEL; one that pods share, which nothing attaches, from its prepare on.
#pragma once

#include "common/container/claim_record.h"
#include "common/json.h"
#include "common/node/attachment_record.h"
#include "common/result.h"
#include "plugin/device/allocate/prepare.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace vfrail::plugin {

// A record of vfrail-cni, and when it was written last.
struct WrittenRecord {
  Record record;
  std::chrono::system_clock::time_point written;
};

// What is known of a claim and of the devices that pods have.
struct PreparedFacts {
  ClaimRecord claim;
  std::chrono::system_clock::time_point prepared;
  std::map<std::string, std::vector<std::string>> devices_of;  // of a bundle: "rdma/hca bundle-3"
  std::map<std::string, WrittenRecord> attached;               // by device
};

// Entries of status.devices (resource.k8s.io/v1). Pure.
Json status_devices(const PreparedFacts& facts, const std::string& driver);

struct ClaimStatus {
  ClaimName claim;
  Json devices;
};
// Of all claims that are prepared on this node, by uid. A record that cannot be read leaves out its claim.
Result<std::map<std::string, ClaimStatus>> read_claim_statuses(const AllocatePlaces& places,
                                                               const std::string& driver);

}  // namespace vfrail::plugin
