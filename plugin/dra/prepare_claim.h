// prepare_claim(): prepares the devices of a ResourceClaim and writes down what it did; unprepare_claim() is
// the inverse. For each device there is the CDI spec of prepare_for(); what is about all devices of a request
// (its environment, the file of its metadata) is in a CDI spec of the claim and request, so that no request
// overwrites another's.
// Touches nothing of another claim. Knows neither kubelet nor the API server.
#pragma once

#include "common/container/claim_record.h"
#include "common/result.h"
#include "plugin/device/allocate/prepare.h"
#include "plugin/dra/claim.h"
#include "plugin/dra/claim_spec.h"
#include "plugin/dra/offer.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// What this node has by the names of its ResourceSlices.
struct OfferedUnit {
  PublishedPool pool;
  std::string unit;
  uint32_t step = 0;  // as SliceDevice::step
};
struct OfferedUnits {
  std::vector<PublishedPool> pools;
  std::map<std::string, OfferedUnit> by_name;
  OfferOptions options = {};  // by which their attributes are published
};

// An entry of the answer to kubelet.
struct PreparedDevice {
  std::string request;
  std::string node_pool;
  std::string device;
  // The first device of a request has the claim's own spec before its own.
  std::vector<std::string> cdi_ids;
  std::string share = {};  // of a device that pods share: which share it is
  bool operator==(const PreparedDevice&) const = default;
};

// Idempotent, as prepare_for() is. An error of a claim that was not prepared before has changed nothing.
// Errc::busy if a device that pods do not share is prepared for another claim. A claim of which nothing is
// ours needs nothing, not even a record. One call at a time for a claim.
Result<std::vector<PreparedDevice>> prepare_claim(const Claim& claim, const OfferedUnits& offered,
                                                  const AllocatePlaces& places);
// Another claim that one of its devices is prepared for.
Result<std::optional<ClaimRecord>> find_rival(const Claim& claim, const AllocatePlaces& places);
// The record of a claim that is prepared completely: prepare_again() needs nothing else. No value: it was
// never, or its prepare was killed or failed.
Result<std::optional<ClaimRecord>> find_prepared_claim(const std::string& uid, const AllocatePlaces& places);
// The same answer again, and its CDI specs verified and written anew (prepare_for()). Where a device is not
// offered any more the specs have to be there.
Result<std::vector<PreparedDevice>> prepare_again(const ClaimRecord& record, const OfferedUnits& offered,
                                                  const AllocatePlaces& places);
// Removes what was prepared for the claim, the record last. Done if it never was. Errc::busy while a pod has
// one of its devices: vfrail-cni has to return that before anybody else gets it.
Result<> unprepare_claim(const std::string& uid, const AllocatePlaces& places);

}  // namespace vfrail::plugin
