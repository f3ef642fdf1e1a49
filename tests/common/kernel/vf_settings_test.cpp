#include "common/kernel/vf_settings.h"

#include <catch2/catch.hpp>

namespace vfrail::test {

TEST_CASE("VF settings: which of the requested ones are missing, and which present ones a change replaces") {
  const VfSettings have{.vlan = VfVlan{7, 0, 0x8100}, .trust = false};
  const VfSettings wanted{.vlan = VfVlan{7, 0, 0x8100}, .spoof_check = true, .trust = true};
  const VfSettings missing = have.missing(wanted);
  CHECK(missing == VfSettings{.spoof_check = true, .trust = true});
  CHECK(have.only(missing) == VfSettings{.trust = false});  // the driver does not report the other
  CHECK(missing.each() == std::vector<VfSettings>{{.spoof_check = true}, {.trust = true}});
  CHECK(have.missing({}).empty());
}

TEST_CASE("GUIDs are read in all common notations") {
  const uint64_t guid = 0x0011'2233'4455'6677;
  CHECK(format_guid(guid) == "00:11:22:33:44:55:66:77");
  CHECK(parse_guid("00:11:22:33:44:55:66:77") == guid);
  CHECK(parse_guid("00-11-22-33-44-55-66-77") == guid);
  CHECK(parse_guid("0x0011223344556677") == guid);
  CHECK(parse_guid("0011223344556677") == guid);
  for (const char* bad : {"", "0x", "00:11:22:33:44:55:66", "00:11:22:33:44:55:66:7g",
                          "00.11.22.33.44.55.66.77", "+011223344556677"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_guid(bad));
  }
}

}  // namespace vfrail::test
