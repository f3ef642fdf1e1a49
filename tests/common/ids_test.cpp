// common/ids.h: names, parsed once and formatted one way.
#include "common/ids.h"

#include <catch2/catch.hpp>

namespace vfrail {

TEST_CASE("A PCI address is read and written in the kernel's form") {
  const auto address = PciAddress::parse("0000:3B:1f.7");
  REQUIRE(address);
  CHECK(address->bus == 0x3b);
  CHECK(address->device == 0x1f);
  CHECK(address->function == 7);
  CHECK(address->text() == "0000:3b:1f.7");
}

TEST_CASE("A PCI domain can have more than four digits") {
  const auto address = PciAddress::parse("10000:01:00.0");
  REQUIRE(address);
  CHECK(address->domain == 0x10000);
  CHECK(address->text() == "10000:01:00.0");
  CHECK(PciAddress::parse("ffffffff:01:00.0").has_value());
}

TEST_CASE("An invalid PCI address is refused") {
  const char* text =
      GENERATE("", "0000:03:02", "03:02.1", "000:03:02.1", "0000:03:20.0", "0000:03:02.8", "0000:03:02.f",
               "0000:0g:02.1", "0000-03:02.1", "0000:03:02.1 ", " 0000:03:02.1", "-000:03:02.1",
               "100000000:03:02.1", "0000:+3:02.1", "0x00:03:02.1");
  CAPTURE(text);
  CHECK_FALSE(PciAddress::parse(text).has_value());
}

TEST_CASE("A MAC address is read with colons or dashes in any case") {
  CHECK(MacAddress::parse("02:AB:cd:00:00:01")->text() == "02:ab:cd:00:00:01");
  CHECK(MacAddress::parse("02-ab-cd-00-00-01")->text() == "02:ab:cd:00:00:01");
}

TEST_CASE("An address of IPoIB has 20 bytes") {
  const auto mac = MacAddress::parse("00:00:10:49:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:3e:13:d1");
  REQUIRE(mac);
  CHECK(mac->bytes.size() == 20);
  CHECK_FALSE(mac->all_zero());
}

TEST_CASE("An invalid link-layer address is refused") {
  const char* text = GENERATE("", "02:00:00:00:00", "02:00:00:00:00:0", "02:00:00:00:00:01:02",
                              "02:00:00:00-00:01", "020000000001", "0g:00:00:00:00:01", "+2:00:00:00:00:01",
                              "02.00.00.00.00.01", "02:00:00:00:00:01 ");
  CAPTURE(text);
  CHECK_FALSE(MacAddress::parse(text).has_value());
}

TEST_CASE("An interface name follows the kernel's rule") {
  CHECK(IfName::parse("net1") == IfName("net1"));
  CHECK(IfName::parse("123456789012345").has_value());
  CHECK(IfName::parse("eth0.100").has_value());
  const std::string name = GENERATE(std::string(), ".", "..", "1234567890123456", "a/b", "a:b", "a b", "a\tb",
                                    "a\n", std::string("a\0b", 3));
  CAPTURE(name);
  CHECK_FALSE(IfName::parse(name).has_value());
}

TEST_CASE("A name with a format specifier of the kernel is not an interface name") {
  CHECK_FALSE(IfName::parse("net%d").has_value());
}

TEST_CASE("A device id is a PCI address in lower case or another plain name") {
  CHECK(DeviceId::parse("0000:3B:00.1")->text() == "0000:3b:00.1");
  CHECK(DeviceId::parse("0000:3B:00.1")->pci().has_value());
  CHECK(DeviceId::parse("mlx5_core.sf.4")->text() == "mlx5_core.sf.4");
  CHECK_FALSE(DeviceId::parse("mlx5_core.sf.4")->pci().has_value());
  CHECK(DeviceId::parse(std::string(63, 'x')));
}

TEST_CASE("A text that could lead out of a folder or is too long is not a device id") {
  const std::string text =
      GENERATE(std::string(), ".", "..", "../x", "a/b", "a b", "a;b", "a\nb", std::string(64, 'x'), "ä");
  CAPTURE(text);
  const auto id = DeviceId::parse(text);
  REQUIRE_FALSE(id);
  CHECK(id.error().code == Errc::invalid);
}

TEST_CASE("The message about a device id is short even if the text is long") {
  CHECK(DeviceId::parse(std::string(100'000, 'x')).error().text.size() < 300);
}

}  // namespace vfrail
