// common/container/cdi_runtime.h: what the runtimes' configurations say of CDI, and when that is certain.
#include "common/container/cdi_runtime.h"

#include "common/container/runtime_config.h"
#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail {

namespace {

using Texts = std::vector<std::string>;

constexpr const char* kSpec = "/var/run/cdi/vfrail-a.json";

struct Node {
  test::TempDir folder;
  SysRoot sys{folder.path()};

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder.path(path)).parent_path());
    std::ofstream(folder.path(path)) << text;
  }
  CdiRuntime runtime() const {
    const auto out = find_cdi_runtime(sys);
    REQUIRE(out);
    return *out;
  }
};

constexpr const char* kMain = "etc/containerd/config.toml";

}  // namespace

TEST_CASE("containerd's configuration says whether it reads CDI specs") {
  const Node node;
  const auto support = [&](const char* config) {
    node.write(kMain, config);
    return node.runtime().support;
  };
  CHECK(support("version = 2\n[plugins.x]\n  enable_cdi = true # yes\n") == CdiSupport::yes);
  CHECK(support("version = 3\n[plugins.x]\n  enable_cdi=false\n") == CdiSupport::no);
  CHECK(support("version = 3\n") == CdiSupport::yes);
  CHECK(support("version = 2\n# enable_cdi = true\n") == CdiSupport::unknown);
  CHECK(support("") == CdiSupport::unknown);
  CHECK(support("version = 3\ndisabled_plugins = [\"cri\"]\n") == CdiSupport::unknown);
}

TEST_CASE("the runtime's configuration is found below the root, or it is unknown what the runtime does") {
  const Node node;
  CHECK(node.runtime().support == CdiSupport::unknown);
  std::filesystem::create_directories(node.folder.path("etc/crio"));  // a DaemonSet's mount makes it
  CHECK(node.runtime().support == CdiSupport::unknown);
  node.write("etc/crio/crio.conf.d/10-crio.conf", "[crio.runtime]\n");
  CHECK(node.runtime().support == CdiSupport::yes);
  node.write(kMain, "enable_cdi = false\n");
  CHECK(node.runtime().support == CdiSupport::unknown);
  CHECK(node.runtime().why.find("which runtime kubelet uses is not known") != std::string::npos);
  std::filesystem::remove_all(node.folder.path("etc/crio"));
  CHECK(node.runtime().support == CdiSupport::no);
  CHECK(node.runtime().why.find("enable_cdi = false") != std::string::npos);
}

// Talos has these two: https://www.talos.dev, "Container Device Interface".
TEST_CASE("the folders of specs are the runtime's, drop-ins and lists over several lines included") {
  const Node node;
  node.write(kMain, "version = 3\n");
  CHECK(node.runtime().folders == Texts{"/etc/cdi", "/var/run/cdi"});
  CHECK(node.runtime().reads("/run/cdi"));
  node.write("etc/cri/containerd.toml",
             "version = 3\nimports = [\n  '/etc/cri/conf.d/cri.toml',  # ours\n]\n");
  node.write("etc/cri/conf.d/cri.toml",
             "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\n  cdi_spec_dirs = [\n"
             "    \"/var/cdi/static\", # \"no\"\n    \"/var/cdi/dynamic\"]\n");
  CHECK(node.runtime().support == CdiSupport::yes);
  CHECK(node.runtime().folders == Texts{"/var/cdi/static", "/var/cdi/dynamic"});
  CHECK_FALSE(node.runtime().reads("/var/run/cdi"));
  CHECK(find_missing_cdi(node.sys, "/var/cdi/dynamic/vfrail-a.json").empty());
  CHECK(find_missing_cdi(node.sys, kSpec) ==
        "it reads /var/cdi/static and /var/cdi/dynamic alone (cdi_spec_dirs), not /var/run/cdi");
  CHECK(with_folders_of_runtime("/var/cdi/dynamic/a.json", {"/etc/cdi"}, node.sys) ==
        Texts{"/etc/cdi", "/var/cdi/static", "/var/cdi/dynamic"});
  CHECK(with_folders_of_runtime(kSpec, {"/var/run/cdi"}, node.sys) == Texts{"/var/run/cdi"});
}

TEST_CASE("a later file counts, and what cannot be read or is ambiguous is not known") {
  const Node node;
  constexpr const char* kDropIn = "etc/containerd/conf.d/90-cdi.toml";
  const std::string table = "[plugins.\"io.containerd.grpc.v1.cri\"]\n";
  node.write(kMain,
             "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n" + table + "enable_cdi = false\n");
  CHECK(node.runtime().support == CdiSupport::no);  // the folder would be here
  node.write(kDropIn, table + "enable_cdi = true\n");
  CHECK(node.runtime().support == CdiSupport::yes);
  node.write(kDropIn, table + "sandbox_image = \"x\"\n");
  CHECK(node.runtime().support == CdiSupport::unknown);
  CHECK(node.runtime().why.find("90-cdi.toml has the table of the CRI plugin as well") != std::string::npos);
  node.write(kMain, "version = 3\nimports = [\"/opt/other/*.toml\"]\n");
  CHECK(node.runtime().support == CdiSupport::unknown);
  CHECK(node.runtime().why.find("imports /opt/other/*.toml, which is not here to be read") !=
        std::string::npos);
}

TEST_CASE("CRI-O's folders are read, and none is no CDI") {
  const Node node;
  node.write("etc/crio/crio.conf.d/10.conf", "[crio.runtime]\ncdi_spec_dirs = [\"/a\"]\n");
  CHECK(node.runtime().folders == Texts{"/a"});
  node.write("etc/crio/crio.conf.d/20.conf", "[crio.runtime]\ncdi_spec_dirs = []\n");
  CHECK(node.runtime().support == CdiSupport::no);
}

TEST_CASE("A runtime without CDI is certain only if no import and no other runtime can have it otherwise") {
  const Node node;
  const auto missing = [&] { return find_missing_cdi(node.sys, kSpec); };
  const auto configure = [&](const char* config) { node.write(kMain, config); };
  CHECK(missing().empty());
  configure("imports = []\nversion = 2\n[plugins.x]\n  enable_cdi = false\n");
  CHECK(missing() == node.folder.path(kMain) + " has enable_cdi = false");
  configure("imports = [\"/opt/containerd/*.toml\"]\n[plugins.x]\n  enable_cdi = false\n");
  CHECK(missing().empty());
  configure("version = 2\n");
  CHECK(missing().empty());
  configure("enable_cdi = true\n");
  CHECK(missing().empty());
  configure("enable_cdi = false\n");
  CHECK_FALSE(missing().empty());
  std::filesystem::create_directories(node.folder.path(GENERATE("run/crio/crio.sock", "var/lib/rancher")));
  CHECK(missing().empty());
}

TEST_CASE("what a runtime's file says of CDI is read from its short form as from the file") {
  for (const char* text : {"", "version = 3\n", "version = 2\nenable_cdi = false\n",
                           "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_cdi = "
                           "true\ncdi_spec_dirs = [\n\"/a\", '/b'\n]\n",
                           "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\ncdi_spec_dirs = []\n",
                           "disabled_plugins = [\"cri\"]\n"}) {
    CAPTURE(text);
    const RuntimeFile file = parse_runtime_file(text);
    const RuntimeFile again = parse_runtime_file(format_runtime_file(file));
    CHECK(again.version == file.version);
    CHECK(again.has_cri == file.has_cri);
    CHECK(again.cri_disabled == file.cri_disabled);
    CHECK(again.enable_cdi == file.enable_cdi);
    CHECK(again.cdi_spec_dirs == file.cdi_spec_dirs);
  }
}

}  // namespace vfrail
