// common/node/gid_table.h: where the GID of an address is, and what is in its place.
#include "common/node/gid_table.h"

#include "tests/support/fake_gids.h"
#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

IpAddress ip(const char* text) { return *IpAddress::parse_cidr(text); }

// A port whose netdev is net1.
struct Port {
  explicit Port(int types) : gids(types) {}
  GidSearch find(const char* address, uint32_t entries = kFirstGids) {
    gids.write(dir.path());
    const auto found = find_gid(SysRoot(dir.path()), {ip(address), "net1"}, entries);
    if (!found) FAIL(found.error().text);
    return *found;
  }
  void has(std::vector<IpAddress> addresses) { gids.follow(mac, "net1", addresses); }

  TempDir dir;
  FakeGids gids;
  MacAddress mac = *MacAddress::parse("02:00:00:00:00:01");
};

}  // namespace

TEST_CASE("the first address has the entry behind the default GIDs, of both RoCE types or of v2 alone") {
  const auto [types, index] = GENERATE(table<int, uint32_t>({{2, 3}, {1, 1}}));
  Port port(types);
  port.has({ip("10.0.0.2/24"), ip("fd00::2/64")});
  const auto found = port.find("10.0.0.2/24");
  REQUIRE(found.place);
  CHECK(found.place->index == index);
  CHECK(found.place->expected == index);
  CHECK(found.place->in_the_way.empty());
  CHECK(port.find("fd00::2/64").place->index == index + static_cast<uint32_t>(types));
}

TEST_CASE("what has the place of a GID is named") {
  Port port(2);
  SECTION("an address that was there before") {
    port.has({ip("fe80::dead/64"), ip("10.0.0.2/24")});
    CHECK(port.find("10.0.0.2/24").place->in_the_way == "fe80::dead of net1 (RoCE v2)");
  }
  SECTION("an address of a VLAN upon the interface") {
    port.has({});
    port.gids.occupy(ip("10.1.0.9/24"), "net1.5");
    port.has({ip("10.0.0.2/24")});
    CHECK(port.find("10.0.0.2/24").place->in_the_way == "10.1.0.9 of net1.5 (RoCE v2)");
  }
  SECTION("one that has gone since") {
    port.has({ip("fe80::dead/64"), ip("10.0.0.2/24")});
    port.has({ip("10.0.0.2/24")});
    CHECK(port.find("10.0.0.2/24").place->in_the_way.empty());
  }
  CHECK(port.find("10.0.0.2/24").place->index == 5);
  CHECK(port.find("10.0.0.2/24").place->expected == 3);
}

TEST_CASE("the same address on another interface is not the one") {
  Port port(2);
  port.has({});
  port.gids.occupy(ip("10.0.0.2/24"), "net1.5");
  const auto found = port.find("10.0.0.2/24");
  CHECK(found.has_table);
  CHECK_FALSE(found.place);
}

TEST_CASE("a GID behind the first entries is found in the whole table only") {
  Port port(1);
  port.has({});
  for (int i = 0; i < 20; ++i)
    port.gids.occupy(ip(("10.1.0." + std::to_string(i) + "/24").c_str()), "net1.5");
  port.has({ip("10.0.0.2/24")});
  CHECK_FALSE(port.find("10.0.0.2/24").place);
  CHECK(port.find("10.0.0.2/24", kAllGids).place->index == 21);
}

TEST_CASE("an iWARP device has a GID of its MAC, and none to wait for") {
  const TempDir dir;
  std::filesystem::create_directories(dir.path("gids"));
  std::ofstream(dir.path("gids/0")) << "0200:0000:0001:0000:0000:0000:0000:0000\n";
  const auto found = find_gid(SysRoot(dir.path()), {ip("10.0.0.2/24"), "net1"}, kFirstGids);
  REQUIRE(found);
  CHECK(found->has_table);
  CHECK_FALSE(found->of_addresses);
  CHECK_FALSE(found->place);
}

TEST_CASE("no table, and one that is no table") {
  const TempDir dir;
  const SysRoot port(dir.path());
  const WantedGid wanted{ip("10.0.0.2/24"), "net1"};
  const auto none = find_gid(port, wanted, kFirstGids);
  REQUIRE(none);
  CHECK_FALSE(none->has_table);
  std::filesystem::create_directories(dir.path("gids"));
  std::ofstream(dir.path("gids/0")) << "garbage\n";
  CHECK(find_gid(port, wanted, kFirstGids).error().code == Errc::protocol);
}

}  // namespace vfrail::test
