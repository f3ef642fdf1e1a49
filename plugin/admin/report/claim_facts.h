// ClaimFacts: what of a node goes by ResourceClaims, by the files that serve writes for it. Reads only; asks
// neither kubelet nor the API server.
#pragma once

#include "common/container/claim_record.h"
#include "common/errors/warning.h"
#include "plugin/admin/report/pods.h"
#include "plugin/dra/offer_state.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct ClaimFacts {
  std::vector<ClaimRecord> records;
  std::optional<OfferState> offer;  // no value: every resource goes by the device plugin, or serve is away

  // "by DRA, published by vfrail.io"; "by the device plugin" where others go by DRA; else empty.
  std::string way_of(const std::string& resource) const;
};

// What cannot be read is a warning.
ClaimFacts read_claim_facts(const std::string& run_dir, std::vector<Warning>& warnings);

// Adds to each device the claim and request that it is prepared for, and the claim's pod where nobody else
// has named one.
void add_claims(const std::vector<ClaimRecord>& records, const Pools& pools, PodsById& out);

}  // namespace vfrail::plugin
