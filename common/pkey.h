// parse_pkey(): an InfiniBand partition key as users write it and as the kernel prints it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vfrail {

// "0x8001", "0X8001" or "8001" without the membership bit (bit 15: full or limited member of the same
// partition, IBTA 10.9.2), so that both compare equal. No value if it is not a 16-bit hexadecimal number.
std::optional<uint16_t> parse_pkey(std::string_view text);

}  // namespace vfrail
