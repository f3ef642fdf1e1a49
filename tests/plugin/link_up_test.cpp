#include "plugin/link_up.h"

#include "tests/support/fake_kernel.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>
#include <linux/if.h>

using namespace vfrail;

namespace {

// rdma/hca shares one RoCE device, whose interface is eth0.
Pools shared(bool is_up, bool set_links_up = true) {
  Pool pool;
  pool.config.prefix = "rdma";
  pool.config.name = "hca";
  pool.config.unit = UnitKind::shared;
  pool.config.set_links_up = set_links_up;
  PoolDevice device;
  device.facts.address = *PciAddress::parse("0000:3b:00.0");
  device.facts.id = DeviceId(device.facts.address);
  device.facts.link_type = "ether";
  device.facts.netdevs.resize(1);
  device.facts.netdevs[0].name = "eth0";
  device.facts.netdevs[0].up = is_up;
  pool.devices.push_back(device);
  Pools out;
  out.pools.push_back(pool);
  return out;
}

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
  CHECK(links.follow(shared(false)).empty());
  CHECK(host.is_up());
  host.set(false);
  const auto warnings = links.follow(shared(false));
  CHECK_FALSE(host.is_up());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "rdma/hca shares 0000:3b:00.0, whose interface eth0 is administratively down, and RDMA over Ethernet "
        "needs it up (ip link set eth0 up) [VF-ADMIN-DOWN]");
}

TEST_CASE("an interface that was up and is set down stays down") {
  Host host;
  host.set(true);
  LinksUp links(host.kernel.get(), host.log);
  CHECK(links.follow(shared(true)).empty());
  host.set(false);
  CHECK(links.follow(shared(false)).size() == 1);
  CHECK_FALSE(host.is_up());
}

TEST_CASE("nothing is set up if the resource opts out, or if it is not shared") {
  Host host;
  LinksUp links(host.kernel.get(), host.log);
  CHECK(links.follow(shared(false, false)).size() == 1);
  Pools exclusive = shared(false);
  exclusive.pools[0].config.unit = UnitKind::device;
  CHECK(links.follow(exclusive).empty());
  CHECK_FALSE(host.is_up());
}

TEST_CASE("an interface that cannot be set up is a warning with the reason") {
  Host host;
  LinksUp elsewhere(nullptr, host.log);
  CHECK(
      elsewhere.follow(shared(false)).at(0).find("it cannot be set up from here, which is not the host's") !=
      std::string::npos);
  host.world.fail_call(host.world.calls() + 2, EPERM, test::FakeWorld::When::before);
  LinksUp links(host.kernel.get(), host.log);
  CHECK(links.follow(shared(false)).at(0).find("it cannot be set up: ") != std::string::npos);
  CHECK_FALSE(host.is_up());
  Pools infiniband = shared(false);
  infiniband.pools[0].devices[0].facts.link_type = "infiniband";  // works with its interface down
  CHECK(LinksUp(nullptr, host.log).follow(infiniband).empty());
}
