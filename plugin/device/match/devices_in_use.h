// DevicesInUse: which container has which device, as kubelet reports it. A value; asks nobody (that is
// pod_resources.h).
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace vfrail::plugin {

struct PodContainer {
  std::string pod_namespace;
  std::string pod;
  std::string container;
  auto operator<=>(const PodContainer&) const = default;
};

// Begins the key of the devices of a ResourceClaim, whichever driver has prepared them; no resource is called
// so.
inline constexpr std::string_view kClaim = "claim ";  // and "NAMESPACE/NAME"
inline bool is_claim(std::string_view resource) { return resource.starts_with(kClaim); }

struct DevicesInUse {
  // Device id -> who has it. Of a shared pool the ids are those of its units.
  using Devices = std::map<std::string, PodContainer>;

  std::chrono::steady_clock::time_point taken{};
  // "nvidia.com/hostdev" -> its devices in use; "claim default/nics" -> those of that ResourceClaim
  std::map<std::string, Devices> resources;

  // Null if nobody has it.
  const PodContainer* find(const std::string& resource, const std::string& device) const {
    const auto known = resources.find(resource);
    if (known == resources.end()) return nullptr;
    const auto at = known->second.find(device);
    return at == known->second.end() ? nullptr : &at->second;
  }
  size_t count(const std::string& resource) const {
    const auto known = resources.find(resource);
    return known == resources.end() ? 0 : known->second.size();
  }
};

}  // namespace vfrail::plugin
