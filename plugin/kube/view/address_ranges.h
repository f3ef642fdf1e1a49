// How many addresses an ipam configuration of whereabouts has, and in which pool it keeps them. Pure.
#pragma once

#include "common/json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::kube {

struct AddressRange {
  std::string pool;                // the range of its IPPool: "10.1.0.0/16"
  std::string network_name;        // of `network_name`: its pools are apart from those of others
  std::optional<uint64_t> usable;  // no value: IPv6, of which there are more than pods
};

// Those of `range` and `ipRanges`. Empty: there is none that is valid.
std::vector<AddressRange> whereabouts_ranges(const Json& ipam);

}  // namespace vfrail::kube
