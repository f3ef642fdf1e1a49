// IpAddress: an IPv4 or IPv6 address with a prefix length. Pure value; no I/O.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

struct IpAddress {
  std::vector<uint8_t> bytes;  // 4 or 16, network order
  uint8_t prefix = 0;

  bool v6() const { return bytes.size() == 16; }
  auto operator<=>(const IpAddress&) const = default;
  std::string text() const;                                           // "10.1.2.3"
  std::string cidr() const;                                           // "10.1.2.3/24"
  static std::optional<IpAddress> parse(std::string_view text);       // without a prefix: /32 or /128
  static std::optional<IpAddress> parse_cidr(std::string_view text);  // a prefix must be there
};

}  // namespace vfrail
