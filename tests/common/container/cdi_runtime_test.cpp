// common/container/cdi_runtime.h: what the runtimes' configurations say of CDI, and when that is certain.
#include "common/container/cdi_runtime.h"

#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail {

TEST_CASE("containerd's configuration says whether it reads CDI specs") {
  CHECK(cdi_support_of_containerd("version = 2\n[plugins.x]\n  enable_cdi = true # yes\n") ==
        CdiSupport::yes);
  CHECK(cdi_support_of_containerd("version = 3\n[plugins.x]\n  enable_cdi=false\n") == CdiSupport::no);
  CHECK(cdi_support_of_containerd("version = 3\n") == CdiSupport::yes);
  CHECK(cdi_support_of_containerd("version = 2\n# enable_cdi = true\n") == CdiSupport::unknown);
  CHECK(cdi_support_of_containerd("") == CdiSupport::unknown);
}

TEST_CASE("the runtime's configuration is found below the root, or it is unknown what the runtime does") {
  const test::TempDir folder;
  const SysRoot sys(folder.path());
  REQUIRE(find_cdi_runtime(sys));
  CHECK(find_cdi_runtime(sys)->support == CdiSupport::unknown);
  std::filesystem::create_directories(folder.path("etc/crio"));
  CHECK(find_cdi_runtime(sys)->support == CdiSupport::yes);
  std::filesystem::create_directories(folder.path("etc/containerd"));
  std::ofstream(folder.path("etc/containerd/config.toml")) << "enable_cdi = false\n";
  CHECK(find_cdi_runtime(sys)->support == CdiSupport::no);
  CHECK(find_cdi_runtime(sys)->why.find("enable_cdi = false") != std::string::npos);
}

TEST_CASE("A runtime without CDI is certain only if no import and no other runtime can have it otherwise") {
  const test::TempDir folder;
  const SysRoot sys(folder.path());
  std::filesystem::create_directories(folder.path("etc/containerd"));
  const auto configure = [&](const char* config) {
    std::ofstream(folder.path("etc/containerd/config.toml")) << config;
  };
  CHECK(find_missing_cdi(sys).empty());
  configure("imports = []\nversion = 2\n[plugins.x]\n  enable_cdi = false\n");
  CHECK(find_missing_cdi(sys) == folder.path("etc/containerd/config.toml") + " has enable_cdi = false");
  configure("imports = [\"/etc/containerd/conf.d/*.toml\"]\n[plugins.x]\n  enable_cdi = false\n");
  CHECK(find_missing_cdi(sys).empty());
  configure("version = 2\n");
  CHECK(find_missing_cdi(sys).empty());
  configure("enable_cdi = true\n");
  CHECK(find_missing_cdi(sys).empty());
  configure("enable_cdi = false\n");
  CHECK_FALSE(find_missing_cdi(sys).empty());
  std::filesystem::create_directories(folder.path(GENERATE("etc/crio", "var/lib/rancher")));
  CHECK(find_missing_cdi(sys).empty());
}

}  // namespace vfrail
