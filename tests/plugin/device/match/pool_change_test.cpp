#include "plugin/device/match/pool_change.h"

#include "common/text.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

// "03:02.1" healthy, "03:02.1!" not.
Pool pool(const std::vector<std::string>& devices) {
  Pool out;
  for (std::string text : devices) {
    PoolDevice device;
    if (text.back() == '!') {
      device.fault = {FaultCode::port_down, "its port is down"};
      text.pop_back();
    }
    device.facts.address = PciAddress::parse("0000:" + text).value();
    device.facts.id = DeviceId(device.facts.address);
    out.devices.push_back(std::move(device));
  }
  return out;
}

}  // namespace

TEST_CASE("a change of a pool lists what was added and removed") {
  const PoolChange change =
      compare(pool({"03:02.1", "03:02.2", "03:02.5"}), pool({"03:02.0", "03:02.2", "03:02.6", "03:02.7"}));
  CHECK(change.added == std::vector<std::string>{"0000:03:02.0", "0000:03:02.6", "0000:03:02.7"});
  CHECK(change.removed == std::vector<std::string>{"0000:03:02.1", "0000:03:02.5"});
  CHECK(change.text() == "+3 -2 devices");
  CHECK(compare(pool({}), pool({"03:02.1"})).text() == "+1 devices");
  CHECK(compare(pool({"03:02.1"}), pool({})).text() == "-1 devices");
}

TEST_CASE("the difference of lists does not depend on their order") {
  // As a scan sorts them: by number.
  const auto sub_functions = [](const std::vector<int>& numbers) {
    Pool out;
    for (const int number : numbers) {
      PoolDevice device;
      device.facts.kind = FunctionKind::sub_function;
      device.facts.address = PciAddress::parse("0000:03:00.0").value();
      device.facts.id = *DeviceId::parse("mlx5_core.sf." + std::to_string(number));
      out.devices.push_back(std::move(device));
    }
    return out;
  };
  const PoolChange change = compare(sub_functions({9, 10, 11, 12}), sub_functions({9, 11, 12}));
  CHECK(change.text() == "-1 devices");
  CHECK(change.removed == std::vector<std::string>{"mlx5_core.sf.10"});
  CHECK(compare(sub_functions({12, 2}), sub_functions({2, 12})).text() == "the same devices");
}

TEST_CASE("devices that stay and fail or recover are listed") {
  const PoolChange change =
      compare(pool({"03:02.1", "03:02.2!", "03:02.3!"}), pool({"03:02.1!", "03:02.2", "03:02.3!"}));
  CHECK(change.failed == std::vector<std::string>{"0000:03:02.1"});
  CHECK(change.recovered == std::vector<std::string>{"0000:03:02.2"});
  CHECK(change.text() == "1 unhealthy, 1 healthy again");
  CHECK(compare(pool({"03:02.1"}), pool({"03:02.1!", "03:02.2"})).text() == "+1 devices, 1 unhealthy");
  CHECK(compare(pool({"03:02.1"}), pool({"03:02.1"})).text() == "the same devices");
}

TEST_CASE("a long list is shortened in the log") {
  std::vector<std::string> words(8, "x");
  CHECK(first_few({}).empty());
  CHECK(first_few(words) == "x x x x x x x x");
  words.resize(40, "x");
  CHECK(first_few(words) == "x x x x x x x and 33 more");
}
