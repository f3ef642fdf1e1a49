// What a container reads of the devices of its claim (common/container/device_metadata.h): written at the
// claim's prepare.
#pragma once

#include "common/container/claim_record.h"
#include "common/result.h"
#include "plugin/device/allocate/prepare.h"
#include "plugin/dra/offer.h"

#include <vector>

namespace vfrail::plugin {

// A file for each request, with the attributes of now: the scheduler may have allocated the devices by a
// slice that is a little older. A device that is in no pool any more has none. Files that are there stay.
Result<> describe_devices(const ClaimRecord& record, const std::vector<PublishedPool>& pools,
                          const OfferOptions& options, const AllocatePlaces& places);

}  // namespace vfrail::plugin
