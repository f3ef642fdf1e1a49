// common/container/allocated_unit.h: the devices of a bundle, from the device plugin to the CNI.
#include "common/container/allocated_unit.h"

#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

using Catch::Contains;

AllocatedUnit unit(const std::string& name, const std::string& resource, std::vector<std::string> devices) {
  AllocatedUnit out{name, resource, {}};
  for (const std::string& device : devices) out.devices.push_back(*DeviceId::parse(device));
  return out;
}

}  // namespace

TEST_CASE("a unit is read as it was written, in the order of its rails, until it is removed") {
  const test::TempDir dir;
  const auto wanted = unit("bundle-3", "rdma/hca", {"0000:41:00.3", "0000:03:00.3"});
  REQUIRE(write_allocated_unit(dir.path("run"), wanted));
  REQUIRE(write_allocated_unit(dir.path("run"), unit("bundle-31", "rdma/hca", {"0000:41:02.3"})));
  CHECK(*read_allocated_units(dir.path("run"), "bundle-3") == std::vector{wanted});
  REQUIRE(remove_allocated_unit(dir.path("run"), wanted));
  CHECK(read_allocated_units(dir.path("run"), "bundle-3")->empty());
}

TEST_CASE("two resources have a unit of one name, each with its own devices") {
  const test::TempDir dir;
  const auto second = unit("bundle-0", "rdma/second", {"0000:41:00.1"});
  const auto first = unit("bundle-0", "rdma/first", {"0000:03:00.1"});
  REQUIRE(write_allocated_unit(dir.path("run"), second));
  REQUIRE(write_allocated_unit(dir.path("run"), first));
  CHECK(*read_allocated_units(dir.path("run"), "bundle-0") == std::vector{first, second});
}

TEST_CASE("without a folder there is no unit, and what cannot be read is an error that names its file") {
  const test::TempDir dir;
  CHECK(read_allocated_units(dir.path("run"), "bundle-0")->empty());
  REQUIRE(write_allocated_unit(dir.path("run"), unit("bundle-0", "rdma/hca", {"0000:03:00.1"})));
  const std::string file = dir.path("run/promised/bundle-0~rdma~hca.json");
  for (const char* text : {"{", R"({"resource":"rdma/hca","devices":[]})",
                           R"({"resource":"rdma/hca","devices":["/etc/passwd/x"]})"}) {
    std::ofstream(file) << text;
    const auto read = read_allocated_units(dir.path("run"), "bundle-0");
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().text, Contains("bundle-0~rdma~hca.json"));
  }
  // A less trusted process writes there.
  std::filesystem::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK_FALSE(read_allocated_units(dir.path("run"), "bundle-0"));
  std::filesystem::remove(file);
  std::ofstream(dir.path("elsewhere")) << R"({"resource":"rdma/hca","devices":["0000:03:00.1"]})";
  std::filesystem::create_symlink(dir.path("elsewhere"), file);
  CHECK_FALSE(read_allocated_units(dir.path("run"), "bundle-0"));
  std::filesystem::remove_all(dir.path("run/promised"));
  std::filesystem::create_directory_symlink("/etc", dir.path("run/promised"));
  CHECK_FALSE(read_allocated_units(dir.path("run"), "bundle-0"));
}

TEST_CASE("only bundle- and a number is the name of a unit") {
  for (const char* text : {"bundle-0", "bundle-17", "bundle-99999"}) CHECK(is_unit(text));
  for (const char* text :
       {"", "bundle-", "bundle", "bundle-100000", "bundle-1a", "bundle-1/..", "Bundle-1", "0000:03:00.1"})
    CHECK_FALSE(is_unit(text));
}

}  // namespace vfrail
