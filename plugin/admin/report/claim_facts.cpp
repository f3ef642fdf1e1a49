#include "plugin/admin/report/claim_facts.h"

#include "plugin/device/match/units.h"
#include "plugin/dra/claims_in_use.h"

#include <algorithm>
#include <map>
#include <utility>

namespace vfrail::plugin {

namespace {

using DevicesOfUnits = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

// By resource and unit.
DevicesOfUnits list_units(const Pools& pools) {
  DevicesOfUnits out;
  for (const Pool& pool : pools.pools) {
    for (const Unit& unit : make_units(pool)) {
      auto& devices = out[{pool.resource(), unit.id}];
      for (const PoolDevice* device : unit.devices) devices.push_back(device->id());
    }
  }
  return out;
}

void add_claim(const ClaimRecord& record, const std::string& request, std::vector<PodUse>& uses) {
  const auto same = std::find_if(uses.begin(), uses.end(), [&](const PodUse& use) {
    return use.pod == record.pod.name && use.pod_namespace == record.claim.name_space;
  });
  PodUse& use = same != uses.end() ? *same
                                   : uses.emplace_back(PodUse{.pod_namespace = record.claim.name_space,
                                                              .pod = record.pod.name,
                                                              .source = PodUse::Source::claim});
  use.claim = record.claim.name;
  use.request = request;
}

}  // namespace

std::string ClaimFacts::way_of(const std::string& resource) const {
  if (!offer) return "";
  return offer->has(resource) ? "by DRA, " + offer->text() : "by the device plugin";
}

ClaimFacts read_claim_facts(const std::string& run_dir, std::vector<Warning>& warnings) {
  ClaimFacts out;
  auto claims = read_claim_records(run_dir);
  if (claims) {
    out.records = std::move(claims->records);
    warnings.insert(warnings.end(), claims->unread.begin(), claims->unread.end());
  } else {
    warnings.push_back(
        {"which claims are prepared is not known: " + claims.error().text, claims.error().id()});
  }
  auto offer = read_offer_state(run_dir);
  if (offer) {
    out.offer = *std::move(offer);
  } else if (claims) {  // else the same is said twice
    warnings.push_back(
        {"what of the node goes by DRA is not known: " + offer.error().text, offer.error().id()});
  }
  return out;
}

void add_claims(const std::vector<ClaimRecord>& records, const Pools& pools, PodsById& out) {
  if (records.empty()) return;
  const DevicesOfUnits units = list_units(pools);
  for (const ClaimRecord& record : records) {
    for (const ClaimRecord::Request& request : record.requests) {
      for (const ClaimRecord::Device& device : request.devices) {
        const auto unit = units.find({device.resource, device.unit});
        if (unit == units.end()) {
          add_claim(record, request.name, out[device.unit]);  // of a resource that is configured no more
          continue;
        }
        for (const std::string& id : unit->second) add_claim(record, request.name, out[id]);
      }
    }
  }
}

}  // namespace vfrail::plugin
