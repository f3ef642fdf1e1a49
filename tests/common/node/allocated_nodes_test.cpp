// common/node/allocated_nodes.h: what a container was told, from the device plugin to the CNI.
#include "common/node/allocated_nodes.h"

#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

const DeviceId kDevice = *DeviceId::parse("0000:03:02.1");

}  // namespace

TEST_CASE("A promise is read as it was written, until it is removed") {
  const test::TempDir dir;
  const AllocatedNodes allocated{{"uverbs3", "umad3"}, GENERATE("", "/var/run/cdi/vfrail-a.json")};
  REQUIRE(write_allocated_nodes(dir.path("run"), kDevice, allocated));
  CHECK(*read_allocated_nodes(dir.path("run"), kDevice).value_or(std::nullopt) == allocated);
  CHECK(remove_allocated_nodes(dir.path("run"), kDevice));
  CHECK_FALSE(read_allocated_nodes(dir.path("run"), kDevice)->has_value());
  CHECK(remove_allocated_nodes(dir.path("run"), kDevice));
}

TEST_CASE("A promise of no nodes differs from no promise") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {}));
  const auto allocated = read_allocated_nodes(dir.path(), kDevice);
  REQUIRE((allocated && *allocated));
  CHECK((*allocated)->nodes.empty());
}

TEST_CASE("A later promise replaces the earlier one") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, ""}));
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs2"}, ""}));
  CHECK((*read_allocated_nodes(dir.path(), kDevice))->nodes == std::vector<std::string>{"uverbs2"});
}

TEST_CASE("Only root can read promises") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path("run"), kDevice, {{"uverbs1"}, ""}));
  using std::filesystem::perms;
  CHECK(std::filesystem::status(dir.path("run/promised")).permissions() == perms::owner_all);
}

TEST_CASE("A promise that cannot be read is an error that names the file") {
  const char* text = GENERATE("{", "[]", R"({"nodes":5})", R"({"nodes":[5]})", "\xff", R"({"cdiSpec":5})");
  CAPTURE(text);
  const test::TempDir dir;
  std::filesystem::create_directories(dir.path("promised"));
  std::ofstream(dir.path("promised/0000:03:02.1.json")) << text;
  const auto allocated = read_allocated_nodes(dir.path(), kDevice);
  REQUIRE_FALSE(allocated);
  CHECK(allocated.error().text.find("0000:03:02.1.json") != std::string::npos);
}

TEST_CASE("What kubelet was told is void when the device has been given back, what a CDI spec tells is not") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, ""}));
  REQUIRE(end_allocated_nodes(dir.path(), kDevice));
  CHECK_FALSE(read_allocated_nodes(dir.path(), kDevice)->has_value());
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, "/var/run/cdi/vfrail-a.json"}));
  REQUIRE(end_allocated_nodes(dir.path(), kDevice));
  CHECK(read_allocated_nodes(dir.path(), kDevice)->has_value());
}

TEST_CASE("A promise in a folder that is not trusted is not ended, because it may be one by CDI") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, "/var/run/cdi/vfrail-a.json"}));
  std::filesystem::permissions(dir.path("promised"), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  const auto ended = end_allocated_nodes(dir.path(), kDevice);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Errc::denied);
  CHECK(std::filesystem::exists(dir.path("promised/0000:03:02.1.json")));
}

TEST_CASE("A promise that cannot be read ends as others do") {
  const test::TempDir dir;
  std::filesystem::create_directories(dir.path("promised"));
  std::ofstream(dir.path("promised/0000:03:02.1.json")) << "{";
  REQUIRE(end_allocated_nodes(dir.path(), kDevice));
  CHECK_FALSE(read_allocated_nodes(dir.path(), kDevice)->has_value());
}

}  // namespace vfrail
