// plugin/publish/publisher.h: the seam for whoever the node's devices are published to.
#include "plugin/publish/publishers.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

using Time = Publisher::Time;
using Lines = std::vector<std::string>;

const Time kNow{std::chrono::seconds{1000}};

// The smallest that there can be: it prints what is published.
class Printer final : public Publisher {
 public:
  Result<> start(std::function<void()>) override { return {}; }
  bool follow(const std::vector<PublishedPool>& pools, Time) override {
    Lines now;
    for (const PublishedPool& pool : pools) {
      for (const Unit& unit : pool.units())
        now.push_back(pool->resource() + " " + unit.id + (unit.fault.empty() ? "" : ": " + unit.fault));
    }
    std::swap(now, lines);
    return now != lines;
  }
  Time run_due(Time) override { return Time::max(); }
  bool ask_in_use(Time) override { return false; }
  std::optional<Answer> take_answer() override { return std::nullopt; }
  std::vector<ResourceStatus> status() const override { return {}; }
  void close(std::chrono::milliseconds) override { lines = {"closed"}; }

  Lines lines;
};

// One that knows what containers have, when the test says so.
class Knowing final : public Publisher {
 public:
  Result<> start(std::function<void()>) override { return {}; }
  bool follow(const std::vector<PublishedPool>&, Time) override { return false; }
  Time run_due(Time now) override { return now + std::chrono::seconds{5}; }
  bool ask_in_use(Time now) override {
    asked.push_back(now);
    return true;
  }
  std::optional<Answer> take_answer() override { return std::exchange(answer, std::nullopt); }
  std::vector<ResourceStatus> status() const override { return {{.trouble = "none"}}; }
  void close(std::chrono::milliseconds) override {}

  std::vector<Time> asked;
  std::optional<Answer> answer;
};

DevicesInUse uses(const std::string& resource, const std::string& id) {
  DevicesInUse out;
  out.resources[resource][id] = {"default", "p", "c"};
  return out;
}

PublishedPool make_pool(const std::string& fault) {
  Pool pool;
  pool.config.prefix = "intel.com";
  pool.config.name = "hostdev";
  PoolDevice device;
  device.facts.address = *PciAddress::parse("0000:03:02.1");
  device.facts.id = DeviceId(device.facts.address);
  if (!fault.empty()) device.fault = {FaultCode::no_carrier, fault};
  pool.devices.push_back(std::move(device));
  return PublishedPool(std::move(pool));
}

}  // namespace

TEST_CASE("a second publisher gets what the first gets") {
  Knowing first;
  Printer second;
  Publishers all({&first, &second});
  REQUIRE(all.start([] {}));
  CHECK(all.follow({make_pool("")}, kNow));
  CHECK(second.lines == Lines{"intel.com/hostdev 0000:03:02.1"});
  CHECK_FALSE(all.follow({make_pool("")}, kNow));
  CHECK(all.follow({make_pool("no cable")}, kNow));
  CHECK(second.lines == Lines{"intel.com/hostdev 0000:03:02.1: no cable"});
  CHECK(all.run_due(kNow) == kNow + std::chrono::seconds{5});
  CHECK(all.status().size() == 1);
  all.close(std::chrono::milliseconds{10});
  CHECK(second.lines == Lines{"closed"});
}

TEST_CASE("what containers have is known when all publishers that know have answered") {
  Knowing first;
  Knowing second;
  Printer third;
  Publishers all({&first, &second, &third});
  CHECK_FALSE(all.take_answer());
  all.ask_in_use(kNow);
  first.answer = {uses("intel.com/hostdev", "0000:03:02.1"), kNow};
  CHECK_FALSE(all.take_answer());
  all.ask_in_use(kNow + std::chrono::seconds{1});
  CHECK(first.asked == std::vector{kNow});
  SECTION("all have") {
    second.answer = {uses("claim default/nics", "0000:03:02.2"), kNow};
    const auto answer = all.take_answer();
    REQUIRE(answer);
    REQUIRE(answer->in_use);
    CHECK(answer->asked == kNow);
    CHECK(answer->in_use->find("intel.com/hostdev", "0000:03:02.1") != nullptr);
    CHECK(answer->in_use->find("claim default/nics", "0000:03:02.2") != nullptr);
  }
  SECTION("one has failed: nothing is known") {
    second.answer = {Error{Errc::timeout, 0, "no answer"}, kNow};
    const auto answer = all.take_answer();
    REQUIRE(answer);
    CHECK_FALSE(answer->in_use);
  }
  CHECK_FALSE(all.take_answer());
  all.ask_in_use(kNow + std::chrono::seconds{2});
  CHECK(second.asked.size() == 2);
}

TEST_CASE("where no publisher knows what containers have, none has anything") {
  Printer only;
  Publishers all({&only});
  all.ask_in_use(kNow);
  const auto answer = all.take_answer();
  REQUIRE(answer);
  REQUIRE(answer->in_use);
  CHECK(answer->in_use->resources.empty());
}
