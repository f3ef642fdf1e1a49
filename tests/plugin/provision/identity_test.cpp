// plugin/provision/identity.h: addresses of VFs that stay the same, and that no two VFs share.
#include "plugin/provision/identity.h"

#include "common/kernel/vf_settings.h"

#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

TEST_CASE("a derived GUID is the same each time, locally administered, and another for each VF and port") {
  constexpr uint64_t kPorts[] = {0x0c42a1030065f1f2, 0x0c42a1030065f1f3, 0x0c42a1030065f2f2};
  std::set<uint64_t> all(std::begin(kPorts), std::end(kPorts));
  for (const uint64_t port : kPorts) {
    for (uint16_t vf = 0; vf < 1000; ++vf) {
      const uint64_t guid = derive_guid(port, vf);
      CHECK((guid >> 56U & 3U) == 2U);
      CHECK(guid == derive_guid(port, vf));
      CHECK(all.insert(guid).second);
    }
  }
  // Whoever has it in a subnet manager's table relies on it: it is the same in every version.
  CHECK(format_guid(derive_guid(kPorts[0], 0)) == "e6:00:00:03:00:65:f1:f2");
  CHECK(format_guid(derive_guid(kPorts[0], 258)) == "e6:01:02:03:00:65:f1:f2");
}

TEST_CASE("a derived MAC is the same each time, of one interface, and another for each VF and PF") {
  std::set<MacAddress> all;
  for (const char* pf : {"0c:42:a1:65:f1:f2", "0c:42:a1:65:f1:f3", "0c:42:a1:66:f1:f2"}) {
    for (uint16_t vf = 0; vf < 1000; ++vf) {
      const MacAddress mac = derive_mac(*MacAddress::parse(pf), vf);
      REQUIRE(mac.bytes.size() == 6);
      CHECK((mac.bytes[0] & 3U) == 2U);
      CHECK(all.insert(mac).second);
    }
  }
  CHECK(derive_mac(*MacAddress::parse("0c:42:a1:65:f1:f2"), 3).text() == "e6:03:65:f1:f2:16");
}
