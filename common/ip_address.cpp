#include "common/ip_address.h"

#include <arpa/inet.h>
#include <charconv>

namespace vfrail {

std::string IpAddress::text() const {
  char buffer[INET6_ADDRSTRLEN] = {};
  if (bytes.size() != 4 && bytes.size() != 16) return {};
  inet_ntop(v6() ? AF_INET6 : AF_INET, bytes.data(), buffer, sizeof buffer);
  return buffer;
}

std::string IpAddress::cidr() const { return text() + "/" + std::to_string(prefix); }

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string copy(text);  // inet_pton wants a terminating zero
  if (copy.size() >= INET6_ADDRSTRLEN || copy.find('\0') != std::string::npos) return std::nullopt;
  IpAddress out;
  out.bytes.resize(16);
  if (inet_pton(AF_INET6, copy.c_str(), out.bytes.data()) == 1) {
    out.prefix = 128;
    return out;
  }
  out.bytes.resize(4);
  if (inet_pton(AF_INET, copy.c_str(), out.bytes.data()) == 1) {
    out.prefix = 32;
    return out;
  }
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::parse_cidr(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto out = parse(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  uint8_t prefix = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (!out || error != std::errc() || end != digits.data() + digits.size() || prefix > out->prefix) {
    return std::nullopt;
  }
  out->prefix = prefix;
  return out;
}

}  // namespace vfrail
