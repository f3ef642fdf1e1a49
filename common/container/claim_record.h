// ClaimRecord: which devices were prepared for a ResourceClaim, by its uid. It is written before anything
// that it names, and removed after all of that: without it nothing of the claim is on this node. On a tmpfs:
// after a boot nothing is prepared. What each device was given is in the PreparedRecord of the same uid.
//
//   /run/vfrail/claims/2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11.json    0600
#pragma once

#include "common/container/claim_name.h"
#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// Who has reserved the claim; of several pods, which only shares allow, the first.
struct ClaimingPod {
  std::string name;
  std::string uid;
  bool operator==(const ClaimingPod&) const = default;
};

struct ClaimRecord {
  struct Device {
    std::string device;    // in our ResourceSlices: "0000-3b-02-1"
    std::string resource;  // "nvidia.com/hostdev"
    std::string unit;      // of that resource's pool: "0000:3b:02.1"
    // Of a device that pods share: which share it is (shareID), and each step-th unit after that one stands
    // for the same. Empty and 0: the claim has it alone.
    std::string share = {};
    uint32_t step = 0;
    bool operator==(const Device&) const = default;
  };
  struct Request {
    std::string name;
    std::vector<Device> devices;
    bool operator==(const Request&) const = default;
  };

  ClaimName claim;
  ClaimingPod pod;
  std::string node_pool;
  std::string driver = {};     // "vfrail.io"; empty: an older version has prepared it
  std::string pod_claim = {};  // how the pod calls it; empty: not made of a template for a pod
  std::vector<Request> requests;
  bool for_extended_resource = false;
  // vfrail-cni attaches the devices behind the node's primary network, and nobody may go without.
  bool is_chained = false;

  // "claim default/gpu-and-nic of pod trainer-0".
  std::string text() const;
  bool operator==(const ClaimRecord&) const = default;
};

// The text of a record's file, and back. Pure.
std::string format_claim_record(const ClaimRecord& record);
Result<ClaimRecord> parse_claim_record(const std::string& uid, std::string_view text);

// Atomic; the folder is created (0700).
Result<> write_claim(const std::string& run_dir, const ClaimRecord& record);
// No value if there is none. At most 256 KiB.
Result<std::optional<ClaimRecord>> read_claim_record(const std::string& run_dir, const std::string& uid);
Result<> remove_claim(const std::string& run_dir, const std::string& uid);
// The uids of the claims that have a record, sorted. At most 16,384: more than a node has pods.
Result<std::vector<std::string>> list_claims(const std::string& run_dir);
// Those that are prepared for a pod, by their names; of a pod without a uid, by its name. Errc::protocol if
// one that names the pod cannot be read.
Result<std::vector<ClaimRecord>> claims_of_pod(const std::string& run_dir, const std::string& name_space,
                                               const ClaimingPod& pod);

}  // namespace vfrail
