#include "plugin/provision/identity.h"

namespace vfrail::plugin {

namespace {

// Bit 1 of the first byte, in EUI-48 and EUI-64 alike: not one of a vendor's. Bit 0, a group's, stays clear.
constexpr uint8_t kLocal = 0x02;

// The three bytes of the vendor do not fit beside the index, so that 14 bits of them must do (FNV-1a).
uint32_t mix(uint32_t vendor) {
  uint32_t out = 2'166'136'261U;
  for (int shift = 16; shift >= 0; shift -= 8) out = (out ^ ((vendor >> shift) & 0xffU)) * 16'777'619U;
  return out ^ (out >> 16U);
}

uint8_t first_byte(uint32_t mixed) { return static_cast<uint8_t>(kLocal | ((mixed & 0x3fU) << 2U)); }

}  // namespace

uint64_t derive_guid(uint64_t pf, uint16_t vf) {
  const uint32_t vendor = static_cast<uint32_t>(pf >> 40U);
  const uint64_t of_card = pf & 0xff'ffff'ffffULL;
  return (uint64_t{first_byte(mix(vendor))} << 56U) | (uint64_t{vf} << 40U) | of_card;
}

MacAddress derive_mac(const MacAddress& pf, uint16_t vf) {
  const auto& bytes = pf.bytes;
  const uint32_t mixed = mix((uint32_t{bytes[0]} << 16U) | (uint32_t{bytes[1]} << 8U) | bytes[2]);
  const uint8_t last = static_cast<uint8_t>((mixed >> 6U) ^ static_cast<uint32_t>(vf >> 8U));
  return {{first_byte(mixed), static_cast<uint8_t>(vf & 0xffU), bytes[3], bytes[4], bytes[5], last}};
}

}  // namespace vfrail::plugin
