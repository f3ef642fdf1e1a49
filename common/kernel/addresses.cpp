// The parts of AddressSettings and Route that are more than data.
#include "common/kernel/kernel.h"

namespace vfrail {

AddressSettings AddressSettings::usual(const IpAddress& address) {
  AddressSettings out;
  if (address.v6() || address.prefix >= 31) return out;
  out.broadcast = IpAddress{address.bytes, 32};
  for (int bit = address.prefix; bit < 32; ++bit)
    out.broadcast->bytes[static_cast<size_t>(bit / 8)] |= static_cast<uint8_t>(0x80 >> (bit % 8));
  return out;
}

std::string Route::text() const {
  constexpr uint32_t kMain = 254;  // RT_TABLE_MAIN
  std::string out = destination.cidr();
  if (gateway) out += " via " + gateway->text();
  if (source) out += " src " + source->text();
  if (priority) out += " metric " + std::to_string(*priority);
  if (table != kMain) out += " table " + std::to_string(table);
  return out;
}

}  // namespace vfrail
