#include "plugin/device/match/shared_links.h"

#include "tests/plugin/shared_pool.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

TEST_CASE("a report has the interfaces of shared devices that are down, and why serve leaves them so") {
  CHECK(find_links_down(test::shared_pool(true), Reach::host).empty());
  const std::string down = "rdma/hca shares 0000:3b:00.0, whose interface eth0 is administratively down";
  const auto here = find_links_down(test::shared_pool(false), Reach::host);
  REQUIRE(here.size() == 1);
  CHECK(here[0].text.starts_with(down));
  CHECK(here[0].resource == "rdma/hca");
  CHECK(here[0].device == "0000:3b:00.0");
  CHECK(here[0].text.find("from here") == std::string::npos);
  const auto elsewhere = find_links_down(test::shared_pool(false), Reach::elsewhere);
  REQUIRE(elsewhere.size() == 1);
  CHECK(elsewhere[0].text.find("it cannot be brought up from here") != std::string::npos);
  Pools infiniband = test::shared_pool(false);
  infiniband.pools[0].devices[0].facts.link_type = "infiniband";  // works with its interface down
  CHECK(find_links_down(infiniband, Reach::elsewhere).empty());
  Pools exclusive = test::shared_pool(false);
  exclusive.pools[0].config.unit = UnitKind::device;
  CHECK(find_links_down(exclusive, Reach::elsewhere).empty());
  // Nobody wants it to be brought up.
  CHECK(find_links_down(test::shared_pool(false, false), Reach::elsewhere) == here);
}
