// plugin/device/allocate/cdi_choice.h: when device nodes go by CDI, and to which folder.
#include "plugin/device/allocate/cdi_choice.h"

#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

struct ChoiceNode {
  test::TempDir folder;
  SysRoot sys{folder.path()};
  mutable bool asked_to_see = false;

  void configure(const std::string& text) const {
    std::filesystem::create_directories(folder.path("etc/containerd"));
    std::ofstream(folder.path("etc/containerd/config.toml")) << text;
  }
  CdiChoice choose(CdiUse use, const std::string& option = "", const std::string& fault = "") const {
    return choose_cdi(use, option, sys, [&](const std::string&, bool seen) {
      asked_to_see = seen;
      return fault;
    });
  }
};

const char* const kOther = "version = 3\n[plugins.x]\ncdi_spec_dirs = [\"/static\", \"/dynamic\"]\n";

}  // namespace

TEST_CASE("the flag is that of the peers, and auto") {
  CHECK(parse_cdi_use("auto") == CdiUse::automatic);
  CHECK(parse_cdi_use("True") == CdiUse::on);
  CHECK(parse_cdi_use("0") == CdiUse::off);
  CHECK_FALSE(parse_cdi_use("maybe"));
}

TEST_CASE("auto uses CDI where the runtime's configuration says so, and nowhere else") {
  const ChoiceNode node;
  CHECK(node.choose(CdiUse::automatic).folder.empty());  // nothing is mounted
  CHECK(node.choose(CdiUse::automatic).why.find("no configuration of a runtime can be read") !=
        std::string::npos);
  CHECK_FALSE(node.choose(CdiUse::automatic).refused);
  node.configure("version = 2\n");
  CHECK(node.choose(CdiUse::automatic).folder.empty());
  node.configure("enable_cdi = false\n");
  CHECK(node.choose(CdiUse::automatic).folder.empty());
  node.configure("version = 3\n");
  CHECK(node.choose(CdiUse::automatic).folder == "/var/run/cdi");
  CHECK(node.choose(CdiUse::off).folder.empty());
  const CdiChoice closed = node.choose(CdiUse::automatic, "", "it is not mounted");
  CHECK(closed.folder.empty());
  CHECK(closed.why.ends_with(", but it is not mounted"));
}

TEST_CASE("auto looks whether specs are read where an older runtime would ignore the configuration") {
  const ChoiceNode node;
  node.configure("version = 3\n");
  CHECK(node.choose(CdiUse::automatic).folder == "/var/run/cdi");
  CHECK_FALSE(node.asked_to_see);
  node.configure("version = 3\n[plugins.x]\nenable_cdi = true\n");
  CHECK(node.choose(CdiUse::automatic).folder == "/var/run/cdi");
  CHECK_FALSE(node.asked_to_see);
  for (const char* older :
       {"version = 2\n[plugins.x]\nenable_cdi = true\n", "[plugins.x]\nenable_cdi = true\n"}) {
    node.configure(older);
    CHECK(node.choose(CdiUse::automatic).folder == "/var/run/cdi");
    CHECK(node.asked_to_see);
  }
}

TEST_CASE("specs go where the runtime reads them, and to no other folder") {
  const ChoiceNode node;
  node.configure(kOther);
  for (const CdiUse use : {CdiUse::automatic, CdiUse::on}) {
    CHECK(node.choose(use).folder == "/dynamic");
    CHECK(node.choose(use, "/static").folder == "/static");
    const CdiChoice elsewhere = node.choose(use, "/var/run/cdi");
    CHECK(elsewhere.folder.empty());
    CHECK(elsewhere.refused == (use == CdiUse::on));
    CHECK(elsewhere.why ==
          "the container runtime reads specs in /static and /dynamic alone (cdi_spec_dirs), not in "
          "/var/run/cdi");
  }
}

TEST_CASE("CDI that is asked for is used unless the runtime certainly has none") {
  const ChoiceNode node;
  CHECK(node.choose(CdiUse::on).folder == "/var/run/cdi");
  CHECK(node.choose(CdiUse::on, "/x").folder == "/x");
  node.configure("enable_cdi = false\n");
  CHECK(node.choose(CdiUse::on).folder.empty());
  CHECK(node.choose(CdiUse::on).refused);
}

TEST_CASE("a folder of the container's own is not the host's") {
  const test::TempDir folder;
  CHECK(not_of_host("/", SysRoot("/")).empty());
  CHECK_FALSE(not_of_host("/", SysRoot(folder.path())).empty());
  CHECK_FALSE(not_of_host(folder.path("nowhere"), SysRoot(folder.path())).empty());
  CHECK(not_of_host("/proc", SysRoot(folder.path())).empty());
}
