#include "plugin/service/kubelet/published.h"

#include "tests/service/support.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

TEST_CASE("a pool with the same devices is published without a new generation") {
  Published published(make_pool({"0000:03:02.1", "0000:03:02.2"}));
  const auto before = published.get();
  Pool next = make_pool({"0000:03:02.1", "0000:03:02.2"});
  next.devices[0].extra["token"] = "t";
  CHECK_FALSE(published.publish(next));
  CHECK(published.get().generation == before.generation);
  CHECK(published.get().pool->devices[0].extra.at("token") == "t");
  CHECK(before.pool->devices[0].extra.empty());
}

TEST_CASE("what kubelet can see makes a new generation") {
  Pool before = make_pool({"0000:03:02.1", "0000:03:02.2"});
  before.devices[1].facts.numa_node = 0;
  Published published(before);
  Pool next = before;
  SECTION("one device more") { next = make_pool({"0000:03:02.1", "0000:03:02.2", "0000:03:02.3"}); }
  SECTION("one device less") { next.devices.pop_back(); }
  SECTION("no device") { next.devices.clear(); }
  SECTION("another device") { next = make_pool({"0000:03:02.1", "0000:03:02.3"}); }
  SECTION("another NUMA node") { next.devices[0].facts.numa_node = 1; }
  SECTION("a device that is no longer healthy") {
    next.devices[0].fault = {FaultCode::port_down, "its port is down"};
  }
  SECTION("topology excluded") { next.config.exclude_topology = true; }
  CHECK(published.publish(next));
  CHECK(published.get().generation == 2);
}

}  // namespace vfrail::test
