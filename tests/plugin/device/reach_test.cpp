#include "plugin/device/allocate/cdi_folder.h"
#include "plugin/device/config/devlink_reach.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/support/temp_dir.h"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

TEST_CASE("devlink that cannot be queried is reported for the resources that need it") {
  const auto config_with = [](const std::string& health) {
    return *parse_config(R"({"resourceList":[{"resourceName":"a","selectors":{"vendors":["15b3"]})" + health +
                             R"(},{"resourceName":"b","selectors":{"vendors":["8086"]}}]})",
                         {.file = "c.json"});
  };
  const Config demanding = config_with(R"(,"health":{"devlink":true})");
  const auto gaps = find_devlink_gaps(SysRoot("/host"), demanding);
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].text.find("has no effect for intel.com/a: ") != std::string::npos);
  CHECK(find_devlink_gaps(SysRoot("/"), demanding).empty());
  CHECK(find_devlink_gaps(SysRoot("/host"), config_with(R"(,"health":{"devlink":false})")).empty());
}

TEST_CASE("devlink that is asked by default is no warning where it cannot be asked") {
  const std::string entry = R"({"resourceList":[{"resourceName":"a","selectors":{"vendors":["15b3"]})";
  for (const char* health : {"", R"(,"health":{})", R"(,"health":{"port":false})"}) {
    INFO(health);
    const auto config = parse_config(entry + health + "}]}", {.file = "c.json"});
    REQUIRE(config);
    CHECK(config->resources.front().health.devlink);
    CHECK(find_devlink_gaps(SysRoot("/host"), *config).empty());
  }
}

TEST_CASE("DDP packages that devlink does not report are said for the resources that select by them") {
  const auto config = parse_config(R"({"resourceList":[
    {"resourceName":"gtp","selectors":{"vendors":["8086"],"ddpProfiles":["GTP"]},"health":{"devlink":false}},
    {"resourceName":"all","selectors":{},"health":{"devlink":false}}]})",
                                   {.file = "c.json"});
  REQUIRE(config);
  CHECK(find_devlink_gaps(SysRoot("/"), *config).empty());
  const auto gaps = find_devlink_gaps(SysRoot("/host"), *config);
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].text.find("ddpProfiles match no device for intel.com/gtp: ") != std::string::npos);
  REQUIRE(describe_ddp_reach(*config).size() == 1);
  CHECK(describe_ddp_reach(Config()).empty());

  Inventory inventory;
  const auto add = [&](const char* address, const char* driver, const char* pf) {
    DeviceFacts function;
    function.address = PciAddress::parse(address).value();
    function.id = DeviceId(function.address);
    function.vendor = "8086";
    function.driver = Driver(driver);
    if (*pf != '\0') function.pf = PciAddress::parse(pf);
    inventory.functions.push_back(std::move(function));
  };
  add("0000:3b:00.0", "ice", "");
  add("0000:3b:01.0", "iavf", "0000:3b:00.0");
  CHECK(find_ddp_gaps(*config, inventory).empty());
  add("0000:5e:00.0", "i40e", "");
  add("0000:5e:02.0", "iavf", "0000:5e:00.0");
  const auto of_driver = find_ddp_gaps(*config, inventory);
  REQUIRE(of_driver.size() == 1);
  CHECK(of_driver[0].text.find("ddpProfiles of intel.com/gtp do not match 0000:5e:00.0 0000:5e:02.0") == 0);
}

TEST_CASE("a CDI spec of a device in use that no runtime has read is found") {
  const test::TempDir folder;
  const CdiSpec spec{"nvidia.com/net-pci",
                     "0000:03:02.1",
                     {.nodes = {{"/dev/infiniband/uverbs1", "/dev/infiniband/uverbs1", "rw"}}}};
  REQUIRE(put_cdi_spec(folder.path(), spec));
  const std::string file = folder.path(spec.file_name());
  const auto unread = [&](const std::string& id) {
    return find_unread_specs(folder.path(), [&](const std::string& known) { return known == id; });
  };
  const auto set_times = [&](time_t read, time_t written) {
    const timespec times[2] = {{read, 0}, {written, 0}};
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  };
  const time_t now = ::time(nullptr);
  CHECK(unread("0000:03:02.1").empty());  // just written
  const timespec aged[2] = {{0, UTIME_OMIT}, {now - 1000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), aged, 0) == 0);
  CHECK(unread("0000:03:02.1") == std::vector<std::string>{spec.file_name()});
  CHECK(unread("0000:03:02.2").empty());
  // What the kernel does when somebody reads it.
  set_times(now - 900, now - 1000);
  CHECK(unread("0000:03:02.1").empty());
  // The same within the tick of its clock in which the spec was written.
  set_times(now - 1000, now - 1000);
  CHECK(unread("0000:03:02.1").empty());
}
