#include "common/gratuitous_arp.h"

#include <initializer_list>

namespace vfrail {

std::vector<uint8_t> gratuitous_arp(const MacAddress& mac, const IpAddress& address) {
  std::vector<uint8_t> out;
  const auto put = [&out](const std::vector<uint8_t>& bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  put({0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  put(mac.bytes);
  put({0x08, 0x06});                 // ETH_P_ARP
  put({0, 1, 0x08, 0, 6, 4, 0, 1});  // Ethernet, IPv4, the sizes of both, a request (RFC 826)
  put(mac.bytes);
  put(address.bytes);
  put({0, 0, 0, 0, 0, 0});
  put(address.bytes);
  return out;
}

}  // namespace vfrail
