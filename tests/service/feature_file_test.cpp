// The feature file of `vfrail serve --nfd-features`, by the real program on a fake node.
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/program.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <filesystem>
#include <fstream>
#include <signal.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

std::vector<std::string> flags(const IgbNode& node) {
  std::ofstream(node.path("config.json"))
      << R"({"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
             "selectors": {"vendors": ["8086"], "isRdma": true}}]})";
  return {"--config-file",     node.path("config.json"), "--root",
          node.root(),         "--kubelet-root",         node.path("k"),
          "--device-info-dir", node.device_info_dir(),   "--run-dir",
          node.run_dir(),      "--nfd-features",         node.path("features.d")};
}

bool has(const std::string& path, const std::string& line) {
  return eventually([&] { return fs::exists(path) && read_text(path).find(line) != std::string::npos; });
}

}  // namespace

TEST_CASE("serve labels the node while it runs, and follows its devices") {
  const IgbNode node;
  node.fill();
  fs::create_directory(node.path("features.d"));
  const TestKubelet kubelet(node.path("k"));
  const std::string file = node.path("features.d/vfrail");
  Program program(node, flags(node));
  REQUIRE(has(file, "\nvfrail.io/hostdev.count=8\n"));
  CHECK(read_text(file).find("# +expiry-time=20") != std::string::npos);
  CHECK(read_text(file).find("vfrail.io/vfs=8\n") != std::string::npos);
  node.remove_device("0000:21:10.4");
  program.signal(SIGHUP);
  CHECK(has(file, "\nvfrail.io/hostdev.count=7\n"));
  program.signal(SIGTERM);
  CHECK(program.wait(kDeadline) == 0);
  CHECK(fs::is_empty(node.path("features.d")));
}

TEST_CASE("serve serves without the folder of feature files, and says so") {
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  const Program program(node, flags(node));
  CHECK(kubelet.wait_for("nvidia.com/hostdev", 8, kDeadline));
  CHECK(logs(program, "id=VF-NODE-LABELS"));
}

}  // namespace vfrail::test
