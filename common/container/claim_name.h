// ClaimName: which ResourceClaim kubelet means: its name, and the uid that no other claim of that name has.
#pragma once

#include <compare>
#include <string>

namespace vfrail {

struct ClaimName {
  std::string name_space;
  std::string name;
  std::string uid;

  auto operator<=>(const ClaimName&) const = default;
  std::string text() const { return name_space + "/" + name; }
};

}  // namespace vfrail
