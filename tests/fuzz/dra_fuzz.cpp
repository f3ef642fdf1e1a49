// Target: a ResourceClaim as the API server has it, which users of the cluster have written in part, and the
// record of one on this node. What is accepted decides which devices a pod gets, and which are released.
#include "common/container/claim_record.h"
#include "plugin/dra/claim.h"
#include "plugin/dra/claims_in_use.h"
#include "tests/fuzz/checks.h"

#include <set>

using namespace vfrail;
using namespace vfrail::fuzz;
using namespace vfrail::plugin;

namespace {

const ClaimName kName{"default", "nics", "2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11"};

// Each is accounted for as one device of its resource, however many claims have shares of it.
void check_in_use(const ClaimRecord& record) {
  DevicesInUse in_use;
  in_use.resources[std::string(kClaim) + record.claim.text()]["0000:3b:02.1"] = {"default", "a", "app"};
  resolve_claims({record, record}, in_use);
  size_t shares = 0;
  size_t counted = 0;
  for (const ClaimRecord::Request& request : record.requests) {
    for (const ClaimRecord::Device& device : request.devices) shares += device.share.empty() ? 0 : 1;
  }
  for (const auto& [resource, devices] : in_use.resources) counted += devices.size();
  MUST(counted >= shares);
}

void check_same(const ClaimRecord& record) {
  const auto again = parse_claim_record(record.claim.uid, format_claim_record(record));
  MUST(again && *again == record);
}

// What is prepared of it stands in its record.
ClaimRecord record_of(const Claim& claim) {
  ClaimRecord out{.claim = claim.name, .pod = claim.pod, .node_pool = claim.node_pool, .requests = {}};
  for (const ClaimedRequest& request : claim.requests) {
    auto& named = out.requests.emplace_back(ClaimRecord::Request{request.name, {}});
    for (const std::string& device : request.devices) {
      const auto share = request.shares.find(device);
      const bool shared = share != request.shares.end();
      named.devices.push_back({device, "rdma/hca", "0", shared ? share->second : "", shared ? 1U : 0U});
    }
  }
  return out;
}

void check_claim(const Claim& claim) {
  std::set<std::string> names;
  size_t devices = 0;
  for (const ClaimedRequest& request : claim.requests) {
    MUST(!request.name.empty() && names.insert(request.name).second);
    MUST(!request.devices.empty());
    devices += request.devices.size();
    for (const auto& [device, share] : request.shares) MUST(!device.empty() && !share.empty());
  }
  MUST(devices <= 32);
  MUST(claim.requests.empty() || (!claim.pod.name.empty() && !claim.pod.uid.empty()));
  check_same(record_of(claim));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = text_of(data, size);
  if (const auto json = Json::parse(text)) {
    const auto claim = read_claim(*json, kName, {.driver = "vfrail.io", .node_pool = "node-1"});
    if (claim)
      check_claim(*claim);
    else
      check_error(claim.error());
  }
  const auto record = parse_claim_record(kName.uid, text);
  if (!record) {
    check_error(record.error());
    return 0;
  }
  check_same(*record);
  check_in_use(*record);
  return 0;
}
