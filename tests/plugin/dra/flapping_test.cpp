// What one flapping port costs the API server, from the scans of a node to the devices of its ResourceSlices:
// each change of them is a write.
#include "plugin/device/advertise/debounce.h"
#include "plugin/dra/offer.h"
#include "tests/plugin/tree.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using namespace std::chrono_literals;

namespace {

// Changes of the offer within a minute in which the port of all VFs is down and up again for `half` each, and
// every change of it is scanned, as the daemon does it by the kernel's events.
size_t changes_a_minute(std::chrono::milliseconds half) {
  Pool pool;
  pool.config.prefix = "nvidia.com";
  pool.config.name = "hostdev";
  for (const DeviceFacts& function : test::Tree("igb_node").scan().functions) {
    if (!function.is_vf()) continue;
    pool.devices.emplace_back();
    pool.devices.back().facts = function;
  }
  Debounce debounce;
  KnownNames names;
  std::string last;
  size_t changes = 0;
  const Debounce::Time start{};
  for (auto at = 0ms; at < 60s; at += 100ms) {
    std::vector<Pool> pools{pool};
    const bool down = (at / half) % 2 == 1;
    for (PoolDevice& device : pools.front().devices) {
      if (down) device.fault = {FaultCode::port_down, "its port is DOWN"};
    }
    debounce.settle(pools, start + at);
    std::string now;
    for (const OfferedDevice& one :
         make_offer({PublishedPool(std::move(pools.front()))}, {}, OfferOptions(), names))
      now += one.device.text();
    if (!last.empty() && now != last) ++changes;
    last = std::move(now);
  }
  return changes;
}

}  // namespace

TEST_CASE("a port that flaps faster than every two seconds is no change of what is offered") {
  for (const auto half : {100ms, 300ms, 1000ms, 1900ms}) CHECK(changes_a_minute(half) == 0);
}

TEST_CASE("a port that flaps changes what is offered thirty times a minute at most") {
  for (const auto half : {2000ms, 2100ms, 2500ms, 3000ms, 5000ms, 10'000ms}) {
    INFO(half.count() << " ms");
    CHECK(changes_a_minute(half) <= 30);
  }
  CHECK(changes_a_minute(10'000ms) == 5);
}

TEST_CASE("1,024 VFs are an offer of less than a fifth of what the agent takes") {
  Pool pool;
  pool.config.prefix = "nvidia.com";
  pool.config.name = "hostdev";
  const Inventory inventory = test::Tree("igb_node").scan();
  for (const DeviceFacts& function : inventory.functions) {
    if (function.is_vf() && pool.devices.empty()) {
      for (int i = 0; i < 1024; ++i) {
        PoolDevice& device = pool.devices.emplace_back();
        device.facts = function;
        char address[16];
        snprintf(address, sizeof address, "0000:%02x:%02x.%x", 16 + i / 256, i / 8 % 32, i % 8);
        device.facts.address = *PciAddress::parse(address);
        device.facts.id = DeviceId(device.facts.address);
      }
    }
  }
  REQUIRE(pool.devices.size() == 1024);
  KnownNames names;
  const auto offered = make_offer({PublishedPool(pool)}, {}, {.for_dranet = true}, names);
  CHECK(offered.size() == 1024);
  size_t bytes = 0;
  size_t largest = 0;
  for (const OfferedDevice& one : offered) {
    bytes += one.device.text().size();
    largest = std::max(largest, one.device.text().size());
  }
  // 8 MiB for the body of PUT /devices; 64 devices are a slice, of which etcd takes 1.5 MiB.
  CHECK(bytes < 8 * 1024 * 1024 * size_t{2} / 10);
  CHECK(largest * 64 < 1'500'000);
}
