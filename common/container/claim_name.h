// ClaimName: which ResourceClaim kubelet means: its name, and the uid that no other claim of that name has.
#pragma once

#include <compare>
#include <cstddef>
#include <string>

namespace vfrail {

// The DRA driver's name unless another is configured.
inline constexpr const char* kDraDriver = "vfrail.io";
// The API server's limit for a driver's name, which is a DNS subdomain.
inline constexpr std::size_t kMaxDriverName = 63;

struct ClaimName {
  std::string name_space;
  std::string name;
  std::string uid;

  auto operator<=>(const ClaimName&) const = default;
  std::string text() const { return name_space + "/" + name; }
};

}  // namespace vfrail
