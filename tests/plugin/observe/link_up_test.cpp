#include "plugin/observe/link_up.h"

#include "tests/plugin/shared_pool.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>
#include <linux/if.h>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

struct Host {
  Host() : world(folder.path()) {
    (void)log.open_file(folder.path("log"));
    world.add_vf("0000:3b:00.0", "eth0");
    kernel = world.open(test::FakeWorld::kHost);
  }
  bool is_up() { return (world.link("eth0").flags & unsigned{IFF_UP}) != 0; }
  void set(bool up) {
    LinkChange change;
    change.up = up;
    REQUIRE(kernel->change_link(world.link("eth0").index, change));
  }
  test::TempDir folder;
  test::FakeWorld world;
  Log log;
  std::unique_ptr<Kernel> kernel;
};

}  // namespace

TEST_CASE("the interface of a shared device is set up when it is first seen, and not again") {
  Host host;
  LinksUp links(host.kernel.get(), host.log);
  Pools pools = test::shared_pool(false);
  pools.pools.push_back(pools.pools[0]);  // of which a second resource has it, too
  CHECK(links.follow(pools).empty());
  CHECK(host.is_up());
  host.set(false);
  const auto warnings = links.follow(test::shared_pool(false));
  CHECK_FALSE(host.is_up());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].line() ==
        "rdma/hca shares 0000:3b:00.0, whose interface eth0 is administratively down, and RDMA over Ethernet "
        "needs it up (ip link set eth0 up) [VF-ADMIN-DOWN]");
}

TEST_CASE("an interface that was up and is set down stays down") {
  Host host;
  host.set(true);
  LinksUp links(host.kernel.get(), host.log);
  CHECK(links.follow(test::shared_pool(true)).empty());
  host.set(false);
  CHECK(links.follow(test::shared_pool(false)).size() == 1);
  CHECK_FALSE(host.is_up());
}

TEST_CASE("nothing is set up if the resource opts out, or if it is not shared") {
  Host host;
  LinksUp links(host.kernel.get(), host.log);
  CHECK(links.follow(test::shared_pool(false, false)).size() == 1);
  Pools exclusive = test::shared_pool(false);
  exclusive.pools[0].config.unit = UnitKind::device;
  CHECK(links.follow(exclusive).empty());
  CHECK_FALSE(host.is_up());
}

TEST_CASE("an interface that cannot be set up is a warning with the reason, for as long as it is so") {
  Host host;
  LinksUp elsewhere(nullptr, host.log);
  for (int scan = 0; scan < 2; ++scan) {
    CHECK(elsewhere.follow(test::shared_pool(false))
              .at(0)
              .text.find("it cannot be brought up from here, which is not the host's") != std::string::npos);
  }
  LinksUp links(host.kernel.get(), host.log);
  for (int scan = 0; scan < 2; ++scan) {
    host.world.fail_call(host.world.calls() + 2, EPERM, test::FakeWorld::When::before);
    const auto warnings = links.follow(test::shared_pool(false));
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].text.find("it cannot be brought up without the capability NET_ADMIN: ") !=
          std::string::npos);
    CHECK(warnings[0].line().ends_with("[VF-ADMIN-DOWN]"));
    CHECK_FALSE(host.is_up());
  }
  host.world.fail_call(host.world.calls() + 2, EIO, test::FakeWorld::When::before);
  CHECK(links.follow(test::shared_pool(false)).at(0).text.find("it cannot be brought up: ") !=
        std::string::npos);
  CHECK(links.follow(test::shared_pool(false)).empty());
  CHECK(host.is_up());
  Pools infiniband = test::shared_pool(false);
  infiniband.pools[0].devices[0].facts.link_type = "infiniband";  // works with its interface down
  CHECK(LinksUp(nullptr, host.log).follow(infiniband).empty());
}
