// Netlink attributes as bytes: walked, found, read as text, with every length checked. Pure, for the messages
// that plugin/ reads without libnl.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include <linux/netlink.h>

namespace vfrail::attributes {

using Bytes = std::span<const std::byte>;

// Calls `visit(type, payload)` for each attribute that fits.
template <class Visit>
void each(Bytes attributes, Visit visit) {
  while (attributes.size() >= sizeof(nlattr)) {
    nlattr header{};
    std::memcpy(&header, attributes.data(), sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > attributes.size()) return;
    visit(static_cast<uint16_t>(header.nla_type & NLA_TYPE_MASK),
          attributes.subspan(sizeof header, header.nla_len - sizeof header));
    const size_t step = (size_t{header.nla_len} + 3) & ~size_t{3};
    attributes = attributes.subspan(std::min(step, attributes.size()));
  }
}

// The first of that type; empty if there is none.
inline Bytes find(Bytes attributes, uint16_t wanted) {
  std::optional<Bytes> found;
  each(attributes, [&](uint16_t type, Bytes payload) {
    if (type == wanted && !found) found = payload;
  });
  return found.value_or(Bytes());
}

inline std::string text(Bytes payload) {
  const auto* data = reinterpret_cast<const char*>(payload.data());
  return data == nullptr ? std::string() : std::string(data, strnlen(data, payload.size()));
}

// The fixed structure at `offset` and nothing if the message is too short for it.
template <class Header>
std::optional<Header> header_at(Bytes message, size_t offset) {
  if (message.size() < offset + sizeof(Header)) return std::nullopt;
  Header out{};
  std::memcpy(&out, message.data() + offset, sizeof out);
  return out;
}

}  // namespace vfrail::attributes
