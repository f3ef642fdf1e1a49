#include "common/pkey.h"

#include <charconv>

namespace vfrail {

std::optional<uint16_t> parse_pkey(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<uint16_t>(value & 0x7fffU);
}

}  // namespace vfrail
