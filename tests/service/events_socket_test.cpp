// `vfrail serve --events-socket`, by the real program on a fake node.
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/fake_agent.h"
#include "tests/service/program.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <fstream>
#include <signal.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace {

std::vector<std::string> flags(const IgbNode& node, const std::string& socket) {
  std::ofstream(node.path("config.json"))
      << R"({"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
             "selectors": {"vendors": ["8086"], "isRdma": true}}]})";
  return {"--config-file",     node.path("config.json"), "--root",
          node.root(),         "--kubelet-root",         node.path("k"),
          "--device-info-dir", node.device_info_dir(),   "--run-dir",
          node.run_dir(),      "--events-socket",        socket};
}

}  // namespace

TEST_CASE("serve sends what an administrator must see to the socket, and ends as ever") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  const FakeAgent agent(node.path("node.sock"));
  Program program(node, flags(node, node.path("node.sock")));
  CHECK(eventually([&] { return agent.has("notices"); }));
  CHECK(kubelet.wait_for("nvidia.com/hostdev", 8, kDeadline));
  program.signal(SIGTERM);
  CHECK(program.wait(kDeadline) == 0);
}

TEST_CASE("serve serves without an agent at the socket, and says once that nothing becomes an Event") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  const Program program(node, flags(node, node.path("absent.sock")));
  CHECK(kubelet.wait_for("nvidia.com/hostdev", 8, kDeadline));
  CHECK(logs(program, "does not become an Event"));
}

TEST_CASE("a relative --events-socket is refused") {
  const IgbNode node;
  Program program(node, flags(node, "node.sock"));
  CHECK(program.wait(kDeadline) == 2);
  CHECK(program.log().find("--events-socket: must be an absolute path") != std::string::npos);
}

}  // namespace vfrail::test
