#include "plugin/dra/claims_in_use.h"

#include "common/container/allocated_unit.h"

namespace vfrail::plugin {

Result<ClaimRecords> read_claim_records(const std::string& run_dir) {
  ClaimRecords out;
  for (const std::string& uid : TRY(list_claims(run_dir))) {
    auto record = read_claim_record(run_dir, uid);
    if (!record) {
      out.unread.push_back({record.error().text, record.error().id()});
    } else if (*record) {  // one that has been removed meanwhile is not missed
      out.records.push_back(**std::move(record));
    }
  }
  return out;
}

void resolve_claims(const std::vector<ClaimRecord>& records, DevicesInUse& in_use) {
  for (const ClaimRecord& record : records) {
    const auto claim = in_use.resources.find(std::string(kClaim) + record.claim.text());
    // Prepared, and the containers are not there yet.
    if (claim == in_use.resources.end() || claim->second.empty()) continue;
    const PodContainer any = claim->second.begin()->second;
    bool has_bundle = false;
    for (const ClaimRecord::Request& request : record.requests) {
      for (const ClaimRecord::Device& device : request.devices) {
        has_bundle = has_bundle || is_unit(device.unit);
        const auto at = claim->second.find(device.unit);
        in_use.resources[device.resource][device.unit] = at == claim->second.end() ? any : at->second;
        if (at != claim->second.end()) claim->second.erase(at);
      }
    }
    // What a bundle consists of stands there by the addresses of its devices; those of other drivers, if
    // there are any, are in none of our pools.
    if (claim->second.empty() || has_bundle) in_use.resources.erase(claim);
  }
}

}  // namespace vfrail::plugin
