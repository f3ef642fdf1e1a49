// What else on this node has a MAC address: two of them at one switch take each other's packets. Reads only.
#pragma once

#include "cni/node/world.h"
#include "common/ids.h"
#include "common/node/attachment_record.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// The attachments that have the address, by their records, without `us` and without what was attached to the
// same device before: "net1 of pod demo/trainer-0, network rail0".
Result<std::vector<std::string>> attachments_with(const MacAddress& mac, const AttachmentName& us,
                                                  const std::string& device_key, const World& world);
// The links of the host that have the address, without that of `own_index`: "eth0 of the host". A dump of
// links.
Result<std::vector<std::string>> host_links_with(const MacAddress& mac, int own_index, const World& world);

}  // namespace vfrail::cni
