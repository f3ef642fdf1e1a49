// plugin/device/advertise/departures.h: a device that a scan does not see is not yet one that is gone.
#include "plugin/device/advertise/departures.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

using Time = Departures::Time;
using Texts = std::vector<std::string>;

Pool pool_of(const Texts& addresses, const std::string& name = "hostdev") {
  Pool out;
  out.config.prefix = "intel.com";
  out.config.name = name;
  for (const std::string& address : addresses) {
    PoolDevice device;
    device.facts.address = *PciAddress::parse(address);
    device.facts.id = DeviceId(device.facts.address);
    out.devices.push_back(std::move(device));
  }
  return out;
}

Texts ids(const Pool& pool) {
  Texts out;
  for (const PoolDevice& device : pool.devices) out.push_back(device.id());
  return out;
}

const std::string kFirst = "0000:03:02.1";
const std::string kSecond = "0000:03:02.2";
const Texts kBoth{kFirst, kSecond};
const Time kStart{seconds{1000}};

struct DepartureScene {
  Departures departures{seconds{5}};
  std::vector<PublishedPool> published{PublishedPool(pool_of(kBoth))};
  std::optional<DevicesInUse> in_use;
  std::vector<UnreadDevice> unread;

  Texts scan(const Texts& seen, milliseconds at) {
    Pools found;
    found.pools.push_back(pool_of(seen));
    found.unread = unread;
    departures.hold(found, published, in_use ? &*in_use : nullptr, kStart + at);
    return ids(found.pools.front());
  }
  void answer(const Texts& used, milliseconds asked) {
    in_use.emplace();
    for (const std::string& id : used) in_use->resources["intel.com/hostdev"][id] = {"default", "p", "c"};
    departures.answered(kStart + asked);
  }
};

}  // namespace

TEST_CASE("a device that is not seen stays, in its place, until kubelet has answered") {
  DepartureScene scene;
  scene.answer({}, milliseconds{-1});  // before it went
  CHECK(scene.scan({kSecond}, milliseconds{0}) == kBoth);
  CHECK(scene.departures.wait_for_kubelet());
  CHECK(scene.scan({kSecond}, seconds{60}) == kBoth);
  scene.answer({}, seconds{61});
  CHECK(scene.scan({kSecond}, seconds{62}) == Texts{kSecond});
  CHECK_FALSE(scene.departures.wait_for_kubelet());
}

TEST_CASE("a device that a container has stays as long as a move can take, then it is missing") {
  DepartureScene scene;
  CHECK(scene.scan({kSecond}, milliseconds{0}) == kBoth);
  scene.answer({kFirst}, milliseconds{1});
  CHECK(scene.scan({kSecond}, milliseconds{600}) == kBoth);
  CHECK(scene.departures.next() == kStart + seconds{5});
  SECTION("it comes back, and the next move has its own time") {
    CHECK(scene.scan(kBoth, milliseconds{700}) == kBoth);
    CHECK_FALSE(scene.departures.next());
    CHECK(scene.scan({kSecond}, seconds{100}) == kBoth);
  }
  SECTION("it does not come back") {
    CHECK(scene.scan({kSecond}, seconds{5}) == Texts{kSecond});
    // It is published as missing from now on, which is no reason to begin again.
    CHECK(scene.scan({kSecond}, seconds{6}) == Texts{kSecond});
  }
}

TEST_CASE("without an answer of kubelet a device stays as long as a move can take") {
  DepartureScene scene;
  CHECK(scene.scan({kSecond}, milliseconds{0}) == kBoth);
  scene.departures.not_answered();
  CHECK(scene.scan({kSecond}, seconds{4}) == kBoth);
  CHECK(scene.scan({kSecond}, seconds{5}) == Texts{kSecond});
}

TEST_CASE("a device that the configuration gives to another resource leaves at once") {
  DepartureScene scene;
  Pools found;
  found.pools = {pool_of({kSecond}), pool_of({kFirst}, "other")};
  scene.departures.hold(found, scene.published, nullptr, kStart);
  CHECK(ids(found.pools[0]) == Texts{kSecond});
}

TEST_CASE("a device in a pod that another resource would offer stays until no container has it") {
  DepartureScene scene;
  Pools found;
  const auto scan = [&](milliseconds at) {
    found = Pools();
    found.pools = {pool_of({kSecond}), pool_of({kFirst}, "rest")};
    found.pools[1].devices[0].facts.driver = Driver("mlx5_core");  // and no interface
    scene.departures.hold(found, scene.published, scene.in_use ? &*scene.in_use : nullptr, kStart + at);
    return ids(found.pools[0]);
  };
  CHECK(scan(milliseconds{0}) == kBoth);
  CHECK(found.pools[1].devices.empty());
  CHECK(scene.departures.wait_for_kubelet());
  SECTION("kubelet says that a container has it: however long") {
    scene.answer({kFirst}, milliseconds{1});
    CHECK(scan(std::chrono::hours{1}) == kBoth);
    CHECK(found.pools[0].devices[0].fault.empty());
    CHECK(found.pools[1].devices.empty());
    CHECK_FALSE(scene.departures.wait_for_kubelet());
  }
  SECTION("kubelet cannot be asked") {
    scene.departures.not_answered();
    CHECK(scan(seconds{60}) == kBoth);
    CHECK_FALSE(scene.departures.wait_for_kubelet());
  }
  SECTION("no container has it") {
    scene.answer({}, milliseconds{1});
    CHECK(scan(seconds{1}) == Texts{kSecond});
    CHECK(ids(found.pools[1]) == Texts{kFirst});
  }
  SECTION("a container of the other resource has it") {
    scene.in_use.emplace().resources["intel.com/rest"][kFirst] = {"default", "p", "c"};
    CHECK(scan(milliseconds{1}) == Texts{kSecond});
  }
}

TEST_CASE("devices that another resource would offer come back together, and what it has besides stays") {
  const std::string third = "0000:03:02.3";
  DepartureScene scene;
  Pools found;
  found.pools = {pool_of({}), pool_of({kFirst, kSecond, third}, "rest")};
  for (PoolDevice& device : found.pools[1].devices) device.facts.driver = Driver("mlx5_core");
  scene.departures.hold(found, scene.published, nullptr, kStart);
  CHECK(ids(found.pools[0]) == kBoth);
  CHECK(ids(found.pools[1]) == Texts{third});
}

TEST_CASE("an unreadable device stays unchanged, however long, and leaves when it is known to be gone") {
  DepartureScene scene;
  scene.answer({}, milliseconds{1});
  scene.unread = {{kFirst, "EIO"}};
  CHECK(scene.scan({kSecond}, milliseconds{2}) == kBoth);
  CHECK(scene.scan({kSecond}, std::chrono::hours{1}) == kBoth);
  scene.unread.clear();
  scene.answer({}, std::chrono::hours{2});
  CHECK(scene.scan({kSecond}, std::chrono::hours{1}) == Texts{kSecond});
}

TEST_CASE("an unreadable device stays in a shared pool, whose others leave at once") {
  const auto shared = [](const Texts& addresses) {
    Pool out = pool_of(addresses);
    out.config.unit = UnitKind::shared;
    out.config.units = 2;
    return out;
  };
  Departures departures;
  const std::vector<PublishedPool> published{PublishedPool(shared(kBoth))};
  Pools found;
  found.pools = {shared({})};
  found.unread = {{kFirst, "EMFILE"}};
  departures.hold(found, published, nullptr, kStart);
  CHECK(ids(found.pools[0]) == Texts{kFirst});
  CHECK(make_units(found.pools[0]).size() == 2);
  CHECK_FALSE(departures.wait_for_kubelet());
}
