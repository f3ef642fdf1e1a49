// cni/node/device_info.h: what the file says afterwards, and files that are none.
#include "cni/node/device_info.h"

#include "tests/cni/fake_node.h"

#include <fstream>
#include <sys/stat.h>

namespace vfrail::test {
using namespace cni;
namespace {

using Catch::Contains;

const DeviceInfo kDevice{*PciAddress::parse("0000:21:10.0"), "0000:21:00.0", {"rdma0", "rdma0_1"}};

std::optional<Json> corrected(std::string_view text) {
  const auto out = corrected_device_info(*Json::parse(text), kDevice);
  REQUIRE(out);
  return *out;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the RDMA device in a device-info file is corrected, and the rest kept") {
  CHECK(corrected(R"({"type":"pci","version":"1.1.0","x":1,"pci":{"pci-address":"0000:21:10.0",
      "rdma-device":"mlx5_0","representor-device":"eth9"}})") ==
        *Json::parse(R"({"type":"pci","version":"1.1.0","x":1,"pci":{"pci-address":"0000:21:10.0",
      "rdma-device":"rdma0,rdma0_1","representor-device":"eth9"}})"));
}

TEST_CASE("a device-info file that is correct, or has no RDMA device, is left alone") {
  CHECK_FALSE(
      corrected(R"({"type":"pci","pci":{"pci-address":"0000:21:10.0","rdma-device":"rdma0,rdma0_1"}})"));
  CHECK_FALSE(corrected(R"({"type":"vdpa","vdpa":{"pci-address":"0000:21:10.0"}})"));
  CHECK_FALSE(*corrected_device_info(std::nullopt, {kDevice.address, "", {}}));
}

TEST_CASE("a device-info file of another device is not touched") {
  const char* text =
      GENERATE(R"({"type":"pci","pci":{"pci-address":"0000:21:10.2"}})", R"({"type":"pci"})", "5");
  CHECK_FALSE(corrected_device_info(*Json::parse(text), kDevice));
}

TEST_CASE("a missing device-info file is created, readable for all") {
  const TempDir dir;
  REQUIRE(correct_device_info_file(dir.path("info"), {dir.path()}, kDevice));
  CHECK(*Json::parse(text_of(dir.path("info"))) ==
        *Json::parse(R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:21:10.0",
      "pf-pci-address":"0000:21:00.0","rdma-device":"rdma0,rdma0_1"}})"));
  struct stat info {};
  REQUIRE(::stat(dir.path("info").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777U) == 0444);
}

TEST_CASE("what cannot be a device-info file is refused and left unchanged") {
  const TempDir dir;
  const std::string path = dir.path("info");
  std::string words;
  SECTION("a symbolic link") {
    std::filesystem::create_symlink("/etc/hostname", path);
    words = "not a regular file";
  }
  SECTION("a pipe") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    words = "not a regular file";
  }
  SECTION("a folder") {
    std::filesystem::create_directory(path);
    words = "not a regular file";
  }
  SECTION("junk") {
    std::ofstream(path) << "{ torn";
    words = "line 1";
  }
  SECTION("too large") {
    std::ofstream(path) << std::string(70'000, ' ');
    words = "65536";
  }
  const auto type = std::filesystem::symlink_status(path).type();
  const auto done = correct_device_info_file(path, {dir.path()}, kDevice);
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().text, Contains(path) && Contains(words));
  CHECK(std::filesystem::symlink_status(path).type() == type);
}

TEST_CASE("a network's configuration cannot create or change files outside Multus' folder") {
  const TempDir dir;
  std::filesystem::create_directories(dir.path("devinfo/cni"));
  std::filesystem::create_directories(dir.path("elsewhere"));
  std::filesystem::create_directory_symlink(dir.path("elsewhere"), dir.path("devinfo/link"));
  const std::string path =
      dir.path(GENERATE("elsewhere/info", "devinfo/../elsewhere/info", "devinfo/link/info",
                        "devinfo/cni/../../elsewhere/info", "devinfo", "devinfoinfo"));
  CAPTURE(path);
  const auto done = correct_device_info_file(path, {dir.path("devinfo")}, kDevice);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::denied);
  CHECK(std::filesystem::is_empty(dir.path("elsewhere")));
  REQUIRE(correct_device_info_file(dir.path("devinfo/cni/info"), {dir.path("devinfo")}, kDevice));
  CHECK(std::filesystem::exists(dir.path("devinfo/cni/info")));
}

TEST_CASE("ADD writes the RDMA device's name in the pod into the file, and failing to is no error") {
  TwoVfs node;
  const std::string path = node.dir.path("info");
  const auto config = [&](const std::string& file) {
    return R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","deviceID":"0000:21:10.0","rdmaName":"rdma0",)"
           R"("runtimeConfig":{"CNIDeviceInfoFile":")" +
           file + "\"}}";
  };
  std::ofstream(path) << R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:21:10.0",)"
                         R"("rdma-device":"mlx5_0"}})";
  SECTION("a regular file") {
    REQUIRE(node.add(config(path)));
    CHECK_THAT(text_of(path), Contains(R"("rdma-device":"rdma0")"));
  }
  SECTION("in a folder that does not exist") { REQUIRE(node.add(config(node.dir.path("none/info")))); }
  SECTION("outside Multus' folder") {
    REQUIRE(node.add(config("/tmp/vfrail-device-info")));
    CHECK_FALSE(std::filesystem::exists("/tmp/vfrail-device-info"));
  }
  SECTION("a relative path") { REQUIRE(node.add(config("info"))); }
  CHECK(node.has("netns 2 rdma rdma0 "));
}

}  // namespace vfrail::test
