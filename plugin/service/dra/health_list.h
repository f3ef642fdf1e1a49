// HealthList: the health of all devices of this node's ResourceSlices, as it is reported to kubelet.
#pragma once

#include "plugin/dra/prepare_claim.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

struct HealthList {
  struct Device {
    std::string name;
    std::string fault;  // empty: it is healthy
    bool operator==(const Device&) const = default;
  };
  std::string node_pool;
  std::vector<Device> devices;  // in the order of their names
  bool operator==(const HealthList&) const = default;
};

// The API's limit for the text of a device.
inline constexpr size_t kMaxHealthText = 1024;

// Without a pool name nothing can be said about a device: then there are none.
HealthList make_health_list(const std::string& node_pool, const OfferedUnits& offered);

// At most so many bytes of it, and no part of a character.
std::string cut_text(std::string_view text, size_t most);

}  // namespace vfrail::plugin
