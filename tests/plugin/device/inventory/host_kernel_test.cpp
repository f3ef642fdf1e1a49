// plugin/device/inventory/host_kernel.h: a root leads to the kernel of our own network namespace only if that
// is the host's. tests/netns/serve_test.cpp has the case that procfs shows another one.
#include "plugin/device/inventory/host_kernel.h"

#include "tests/support/temp_dir.h"

#include <filesystem>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
namespace fs = std::filesystem;

namespace {

// As the DaemonSet mounts the host's proc/1/net below a root; `target` is what is there.
struct Mounted {
  explicit Mounted(const std::string& target) {
    fs::create_directories(folder.path("proc/1"));
    fs::create_directory_symlink(target, folder.path("proc/1/net"));
  }
  Result<bool> is_host() const { return is_host_netns(SysRoot(folder.path())); }
  test::TempDir folder;
};

}  // namespace

TEST_CASE("below a root whose procfs shows our own network namespace, the kernel is asked") {
  const Mounted host("/proc/self/net");
  const auto is_host = host.is_host();
  REQUIRE(is_host.ok());
  CHECK(*is_host);
  const auto kernel = host_kernel(host.folder.path());
  REQUIRE(kernel);
  CHECK(*kernel != nullptr);
  const auto own = host_kernel("/");
  REQUIRE(own);
  CHECK(*own != nullptr);
}

TEST_CASE("a tree without procfs is not this host, whatever its files say") {
  const test::TempDir empty;
  const Mounted copied("../net-of-another-machine");
  fs::create_directories(copied.folder.path("proc/net-of-another-machine"));
  fs::copy_file("/proc/self/net/dev", copied.folder.path("proc/net-of-another-machine/dev"));
  for (const std::string& root : {empty.path(), copied.folder.path()}) {
    const auto is_host = is_host_netns(SysRoot(root));
    REQUIRE(is_host.ok());
    CHECK_FALSE(*is_host);
    const auto kernel = host_kernel(root);
    REQUIRE(kernel);
    CHECK(*kernel == nullptr);
  }
}

TEST_CASE("a namespace that cannot be read is an error, and no answer") {
  const Mounted loop("net");
  const auto is_host = loop.is_host();
  REQUIRE_FALSE(is_host.ok());
  CHECK(is_host.error().text.find("proc/1/net/dev: ELOOP") != std::string::npos);
  CHECK_FALSE(host_kernel(loop.folder.path()));
}
