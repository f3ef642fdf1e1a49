// The announcement of an IPv4 address to the neighbours of a link. (IPv6 addresses the kernel announces by
// itself, where net.ipv6.conf.LINK.ndisc_notify says so.) Pure.
#pragma once

#include "common/ids.h"
#include "common/ip_address.h"

#include <cstdint>
#include <vector>

namespace vfrail {

// An Ethernet frame to everybody: a request whose sender and target are the address (RFC 5227, section 3).
// Both must have the size that Ethernet and IPv4 give them, 6 and 4 bytes.
std::vector<uint8_t> gratuitous_arp(const MacAddress& mac, const IpAddress& address);

}  // namespace vfrail
