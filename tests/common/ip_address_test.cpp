// common/ip_address.h
#include "common/ip_address.h"

#include <catch2/catch.hpp>

namespace vfrail {

TEST_CASE("An IP address without a prefix is a host") {
  CHECK(IpAddress::parse("10.1.2.3")->cidr() == "10.1.2.3/32");
  CHECK(IpAddress::parse("2001:DB8::1")->cidr() == "2001:db8::1/128");
}

TEST_CASE("An IP address with a prefix keeps its host bits") {
  CHECK(IpAddress::parse_cidr("10.1.2.3/24")->cidr() == "10.1.2.3/24");
  CHECK(IpAddress::parse_cidr("fd00::5/64")->cidr() == "fd00::5/64");
  CHECK(IpAddress::parse_cidr("0.0.0.0/0")->prefix == 0);
  CHECK(IpAddress::parse_cidr("::/0")->v6());
}

TEST_CASE("What is not an IP address is refused") {
  const std::string text =
      GENERATE(std::string(), "10.1.2", "10.1.2.256", "10.1.2.3.4", "10.1.2.3 ", "fe80::1%eth0", "1:2",
               std::string("10.1.2.3\0x", 10), std::string(100, '1'), "localhost");
  CAPTURE(text);
  CHECK_FALSE(IpAddress::parse(text).has_value());
}

TEST_CASE("A prefix that is missing, too long or no number is refused") {
  const char* text = GENERATE("10.1.2.3", "10.1.2.3/", "10.1.2.3/33", "10.1.2.3/-1", "10.1.2.3/+8",
                              "10.1.2.3/8x", "10.1.2.3/256", "fd00::1/129", "/24", "10.1.2.3/255.255.255.0");
  CAPTURE(text);
  CHECK_FALSE(IpAddress::parse_cidr(text).has_value());
}

TEST_CASE("An address with a wrong number of bytes has no text") {
  CHECK(IpAddress{{1, 2, 3}, 0}.text().empty());
}

}  // namespace vfrail
