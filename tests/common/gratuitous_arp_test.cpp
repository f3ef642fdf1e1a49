// common/gratuitous_arp.h: the frame, byte by byte.
#include "common/gratuitous_arp.h"

#include <catch2/catch.hpp>

namespace vfrail {

TEST_CASE("A gratuitous ARP is a request to everybody whose sender and target are the address") {
  const auto frame =
      gratuitous_arp(*MacAddress::parse("02:00:00:00:00:07"), *IpAddress::parse_cidr("10.9.0.2/24"));
  const std::vector<uint8_t> expected{
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0, 0, 0, 7, 0x08, 0x06,  // to all, from the link, ARP
      0,    1,    0x08, 0,    6,    4,    0,  1,                          // Ethernet, IPv4, request
      2,    0,    0,    0,    0,    7,    10, 9, 0, 2,                    // sender
      0,    0,    0,    0,    0,    0,    10, 9, 0, 2,                    // target
  };
  CHECK(frame == expected);
}

}  // namespace vfrail
