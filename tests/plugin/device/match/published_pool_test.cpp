#include "plugin/device/match/published_pool.h"

#include <optional>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

Pool make_pool(UnitKind kind) {
  Pool out;
  out.config.unit = kind;
  out.config.units = 3;
  for (const char* address : {"0000:03:00.1", "0000:03:00.2"}) {
    out.devices.emplace_back();
    out.devices.back().facts.address = *PciAddress::parse(address);
    out.devices.back().facts.id = DeviceId(out.devices.back().facts.address);
  }
  return out;
}

}  // namespace

TEST_CASE("a published pool finds its units by their ids, whatever a unit is") {
  const PublishedPool devices(make_pool(UnitKind::device));
  REQUIRE(devices.units().size() == 2);
  REQUIRE(devices.find_unit("0000:03:00.2") != nullptr);
  CHECK(devices.find_unit("0000:03:00.2")->devices.front() == &devices->devices[1]);
  CHECK(devices.find_unit("0000:03:00.3") == nullptr);
  CHECK(devices.find_unit("") == nullptr);
  const PublishedPool shared(make_pool(UnitKind::shared));
  REQUIRE(shared.find_unit("2") != nullptr);
  CHECK(shared.find_unit("2")->devices.size() == 2);
  CHECK(shared.find_unit("3") == nullptr);
}

TEST_CASE("a copy of a published pool keeps its units when the pool has been replaced") {
  std::optional<PublishedPool> first(make_pool(UnitKind::device));
  const PublishedPool copy = *first;
  CHECK(copy.find_unit("0000:03:00.1") == first->find_unit("0000:03:00.1"));
  first = PublishedPool(Pool());
  CHECK(first->units().empty());
  REQUIRE(copy.find_unit("0000:03:00.1") != nullptr);
  CHECK(copy.find_unit("0000:03:00.1")->devices.front()->id() == "0000:03:00.1");
}
