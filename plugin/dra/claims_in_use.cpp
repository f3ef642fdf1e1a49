#include "plugin/dra/claims_in_use.h"

#include "common/container/allocated_unit.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

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

namespace {

// A share has no unit of its own: it counts as the first that nobody has of those that stand for its device.
std::string free_unit(const ClaimRecord::Device& device, const DevicesInUse::Devices& used) {
  uint64_t unit = std::strtoull(device.unit.c_str(), nullptr, 10);
  while (used.contains(std::to_string(unit))) unit += std::max<uint32_t>(device.step, 1);
  return std::to_string(unit);
}

}  // namespace

void resolve_claims(const std::vector<ClaimRecord>& records, DevicesInUse& in_use) {
  for (const ClaimRecord& record : records) {
    const auto claim = in_use.resources.find(std::string(kClaim) + record.claim.text());
    // Prepared, and the containers are not there yet.
    if (claim == in_use.resources.end() || claim->second.empty()) continue;
    const PodContainer any = claim->second.begin()->second;
    bool has_units = false;  // that are not devices
    for (const ClaimRecord::Request& request : record.requests) {
      for (const ClaimRecord::Device& device : request.devices) {
        has_units = has_units || is_unit(device.unit) || !device.share.empty();
        if (!device.share.empty()) {
          auto& used = in_use.resources[device.resource];
          used.emplace(free_unit(device, used), any);
          continue;
        }
        const auto at = claim->second.find(device.unit);
        in_use.resources[device.resource][device.unit] = at == claim->second.end() ? any : at->second;
        if (at != claim->second.end()) claim->second.erase(at);
      }
    }
    // What a bundle or a shared pool consists of stands there by the addresses of its devices; those of other
    // drivers, if there are any, are in none of our pools.
    if (claim->second.empty() || has_units) in_use.resources.erase(claim);
  }
}

}  // namespace vfrail::plugin
