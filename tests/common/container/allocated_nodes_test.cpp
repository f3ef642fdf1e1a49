// common/container/allocated_nodes.h: the nodes that a container was allocated, from the device plugin to the
// CNI.
#include "common/container/allocated_nodes.h"

#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

const DeviceId kDevice = *DeviceId::parse("0000:03:02.1");

}  // namespace

TEST_CASE("AllocatedNodes are read as they were written, until they are removed") {
  const test::TempDir dir;
  const AllocatedNodes allocated{{"uverbs3", "umad3"}, GENERATE("", "/var/run/cdi/vfrail-a.json")};
  REQUIRE(write_allocated_nodes(dir.path("run"), kDevice, allocated));
  CHECK(*read_allocated_nodes(dir.path("run"), kDevice).value_or(std::nullopt) == allocated);
  CHECK(remove_allocated_nodes(dir.path("run"), kDevice));
  CHECK_FALSE(read_allocated_nodes(dir.path("run"), kDevice)->has_value());
  CHECK(remove_allocated_nodes(dir.path("run"), kDevice));
}

TEST_CASE("AllocatedNodes without nodes differ from no AllocatedNodes") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {}));
  const auto allocated = read_allocated_nodes(dir.path(), kDevice);
  REQUIRE((allocated && *allocated));
  CHECK((*allocated)->nodes.empty());
}

TEST_CASE("Later AllocatedNodes replace the earlier ones") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, ""}));
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs2"}, ""}));
  CHECK((*read_allocated_nodes(dir.path(), kDevice))->nodes == std::vector<std::string>{"uverbs2"});
}

TEST_CASE("Only root can read AllocatedNodes") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path("run"), kDevice, {{"uverbs1"}, ""}));
  using std::filesystem::perms;
  CHECK(std::filesystem::status(dir.path("run/promised")).permissions() == perms::owner_all);
}

TEST_CASE("Unreadable AllocatedNodes are an error that names the file") {
  const char* text = GENERATE("{", "[]", R"({"nodes":5})", R"({"nodes":[5]})", "\xff", R"({"cdiSpec":5})");
  CAPTURE(text);
  const test::TempDir dir;
  std::filesystem::create_directories(dir.path("promised"));
  std::ofstream(dir.path("promised/0000:03:02.1.json")) << text;
  const auto allocated = read_allocated_nodes(dir.path(), kDevice);
  REQUIRE_FALSE(allocated);
  CHECK(allocated.error().text.find("0000:03:02.1.json") != std::string::npos);
}

TEST_CASE("Restoring the device removes AllocatedNodes without a CDI spec, and keeps those with one") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, ""}));
  REQUIRE(end_allocated_nodes(dir.path(), kDevice));
  CHECK_FALSE(read_allocated_nodes(dir.path(), kDevice)->has_value());
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, "/var/run/cdi/vfrail-a.json"}));
  REQUIRE(end_allocated_nodes(dir.path(), kDevice));
  CHECK(read_allocated_nodes(dir.path(), kDevice)->has_value());
}

TEST_CASE("Only the AllocatedNodes of the given file are removed, not those of a later one") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, ""}));
  const std::string first = (*read_allocated_nodes(dir.path(), kDevice))->file;
  REQUIRE_FALSE(first.empty());
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, ""}));
  const std::string second = (*read_allocated_nodes(dir.path(), kDevice))->file;
  CHECK(first != second);
  REQUIRE(end_allocated_nodes(dir.path(), kDevice, first));
  CHECK(read_allocated_nodes(dir.path(), kDevice)->has_value());
  REQUIRE(end_allocated_nodes(dir.path(), kDevice, second));
  CHECK_FALSE(read_allocated_nodes(dir.path(), kDevice)->has_value());
  std::ofstream(dir.path("promised/0000:03:02.1.json")) << "{";
  REQUIRE(end_allocated_nodes(dir.path(), kDevice, "1:2.3"));
  CHECK(std::filesystem::exists(dir.path("promised/0000:03:02.1.json")));
}

TEST_CASE("AllocatedNodes in an untrusted folder are not removed, because they may have a CDI spec") {
  const test::TempDir dir;
  REQUIRE(write_allocated_nodes(dir.path(), kDevice, {{"uverbs1"}, "/var/run/cdi/vfrail-a.json"}));
  std::filesystem::permissions(dir.path("promised"), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  const auto ended = end_allocated_nodes(dir.path(), kDevice);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Errc::denied);
  CHECK(std::filesystem::exists(dir.path("promised/0000:03:02.1.json")));
}

TEST_CASE("Unreadable AllocatedNodes are removed like others") {
  const test::TempDir dir;
  std::filesystem::create_directories(dir.path("promised"));
  std::ofstream(dir.path("promised/0000:03:02.1.json")) << "{";
  REQUIRE(end_allocated_nodes(dir.path(), kDevice));
  CHECK_FALSE(read_allocated_nodes(dir.path(), kDevice)->has_value());
}

TEST_CASE("A FIFO or a link in the place of AllocatedNodes is not read, and DEL removes it") {
  const test::TempDir dir;
  std::filesystem::create_directories(dir.path("promised"));
  const std::string path = dir.path("promised/0000:03:02.1.json");
  SECTION("a FIFO") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  SECTION("a link") { std::filesystem::create_symlink("/etc/hostname", path); }
  CHECK_FALSE(read_allocated_nodes(dir.path(), kDevice));
  REQUIRE(end_allocated_nodes(dir.path(), kDevice));
  CHECK_FALSE(std::filesystem::exists(std::filesystem::symlink_status(path)));
}

}  // namespace vfrail
