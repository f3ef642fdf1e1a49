#include "plugin/device/config/device_range.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

TEST_CASE("an entry without a range selects every VF of that PF") {
  CHECK(device_range_selects("ens785f0", "ens785f0", 0));
  CHECK(device_range_selects("ens785f0", "ens785f0", 63));
  CHECK_FALSE(device_range_selects("ens785f0", "ens785f1", 0));
}

TEST_CASE("the PF's name is compared without regard to case") {
  CHECK(device_range_selects("ens785f0", "ENS785F0", 1));
}

TEST_CASE("a VF whose index is not known is selected by an entry without numbers alone") {
  CHECK(device_range_selects("ens785f0", "ens785f0", -1));
  CHECK_FALSE(device_range_selects("ens785f0#0-3", "ens785f0", -1));
}

TEST_CASE("numbers have 64 bits, as Go's") {
  CHECK(device_range_selects("p0#0-9999999999", "p0", 3));
  CHECK(device_range_selects("p0#4294967295", "p0", 4294967295));
  CHECK(device_range_fault("p0#0-9999999999").empty());
  CHECK_FALSE(device_range_fault("p0#0-99999999999999999999").empty());
}

TEST_CASE("the PF itself is never selected") { CHECK_FALSE(device_range_selects("ens785f0", "", -1)); }

TEST_CASE("numbers and ranges select their VFs, both ends included") {
  CHECK(device_range_selects("p0#+1-+3", "p0", 2));  // Go reads a sign
  CHECK_FALSE(device_range_selects("p0#+-1", "p0", 1));
  for (const int index : {0, 3, 7}) CHECK(device_range_selects("ens785f0#0-3,7", "ens785f0", index));
  for (const int index : {4, 8}) CHECK_FALSE(device_range_selects("ens785f0#0-3,7", "ens785f0", index));
  CHECK(device_range_selects("0000:86:00.0#0-1,3,4", "0000:86:00.0", 3));
  CHECK(device_range_selects("p0#1-5", "p0", 5));
  CHECK_FALSE(device_range_selects("p0#1-5", "p0", 88));
}

TEST_CASE("items in front of a malformed one still select, those behind it do not") {
  CHECK(device_range_selects("ens785f0#0, 2", "ens785f0", 0));
  CHECK_FALSE(device_range_selects("ens785f0#0, 2", "ens785f0", 2));
  CHECK_FALSE(device_range_selects("ens785f0#x,2", "ens785f0", 2));
}

TEST_CASE("an invalid range selects nothing") {
  for (const char* entry : {"ens785f0#3-1", "ens785f0#1-2-3", "ens785f0#0#1", "ens785f0#", "ens785f0#-1"}) {
    for (int index = 0; index < 4; ++index) CHECK_FALSE(device_range_selects(entry, "ens785f0", index));
  }
}

TEST_CASE("addresses are not normalised") { CHECK_FALSE(device_range_selects("86:00.0", "0000:86:00.0", 0)); }

TEST_CASE("all entries of a list are consulted, unlike in the peer") {
  CHECK(device_ranges_select({"a#0", "a#1"}, "a", 1));
  CHECK_FALSE(device_ranges_select({"a#0", "b#1"}, "a", 1));
}

TEST_CASE("a fault of an entry is reported, a good entry has none") {
  CHECK(device_range_fault("ens785f0#0-3,7").empty());
  CHECK(device_range_fault("ens785f0").empty());
  CHECK(device_range_fault("a#0#1") == "has more than one '#' and selects nothing");
  CHECK(device_range_fault("a#5-3") == "the range 5-3 is empty: the smaller number comes first");
  CHECK(device_range_fault("a#0, 2").find("the item \" 2\"") == 0);
}
