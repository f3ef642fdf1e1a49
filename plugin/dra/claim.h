// Claim: our part of a ResourceClaim: which of our devices the scheduler has allocated to which request, and
// for which pod. Refuses what cannot be prepared, with the reason. Pure.
#pragma once

#include "common/container/claim_record.h"
#include "common/json.h"
#include "common/result.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct ClaimedRequest {
  std::string name;                  // "nic"; of an alternative "nic/vf"
  std::vector<std::string> devices;  // names in our ResourceSlices, in the order of the allocation
  // Of those that pods share: which share it is (shareID), by the device's name.
  std::map<std::string, std::string> shares = {};
  bool operator==(const ClaimedRequest&) const = default;
};

struct Claim {
  ClaimName name;
  ClaimingPod pod;  // empty without requests
  std::string node_pool;
  std::string driver = {};               // ours
  std::string pod_claim = {};            // how the pod calls it; empty: not made of a template for a pod
  std::vector<ClaimedRequest> requests;  // in the order of their first device; empty: nothing of it is ours
  // Made by the scheduler for resources in the limits of the pod's containers, a request for each of them.
  bool for_extended_resource = false;
  bool is_chained = false;  // as ClaimReader::chained; not if all of it is shared, which stays in the host
  bool operator==(const Claim&) const = default;
};

// Whose results are ours.
struct ClaimReader {
  std::string driver;     // "vfrail.io"
  std::string node_pool;  // the pool of this node's ResourceSlices, which is the node's name
  // vfrail-cni attaches the devices of claims behind the node's primary network, also of those that pods name
  // directly, which Multus does not find.
  bool chained = false;
};

// `json` is the claim as the API server has it. Results and configuration of other drivers are skipped.
Result<Claim> read_claim(const Json& json, const ClaimName& name, const ClaimReader& reader);

}  // namespace vfrail::plugin
