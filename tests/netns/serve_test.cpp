// `vfrail serve` and `vfrail inspect` in real network namespaces: what they do when theirs is the host's, and
// what they say when it is not.
#include "tests/netns/node.h"
#include "tests/support/deadline.h"
#include "tests/support/places.h"
#include "tests/support/temp_dir.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

constexpr const char* kShared =
    R"({"configList": [{"resourceName": "hca", "rdmaHcaMax": 4, "selectors": {"ifNames": ["rail9"]}}]})";
constexpr const char* kDown = "rdma/hca shares 0000:03:02.1, whose interface rail9 is administratively down";

bool eventually(const std::function<bool()>& wanted) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!wanted()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  return true;
}

// A node with one RoCE device, whose interface rail9 is down.
struct RoceNode : Node {
  RoceNode() {
    add_device("0000:03:02.1", "rail9");
    shell("ip link set rail9 down");
    write_tree(root(), R"(
sys/bus/pci/devices/0000:03:02.1/class = 0x020000
sys/bus/pci/devices/0000:03:02.1/vendor = 0x15b3
sys/bus/pci/devices/0000:03:02.1/device = 0x101d
sys/bus/pci/devices/0000:03:02.1/net/rail9/flags = 0x1002
sys/bus/pci/devices/0000:03:02.1/net/rail9/type = 1
sys/bus/pci/devices/0000:03:02.1/infiniband/mlx5_0/node_type = 1: CA
sys/bus/pci/devices/0000:03:02.1/infiniband/mlx5_0/ports/1/state = 1: DOWN
sys/bus/pci/devices/0000:03:02.1/infiniband/mlx5_0/ports/1/link_layer = Ethernet
sys/bus/pci/devices/0000:03:02.1/infiniband_verbs/uverbs0/ibdev = mlx5_0
sys/class/net/rail9 -> ../../bus/pci/devices/0000:03:02.1/net/rail9
dev/infiniband/uverbs0/
)");
    write_text(path("config.json"), kShared);
    fs::create_directories(path("k/plugins_registry"));
  }
  // As the DaemonSet has the host's proc/1/net.
  void mount_net_of(const std::string& process) const {
    fs::create_directories(path("root/proc/1"));
    fs::create_directory_symlink("/proc/" + process + "/net", path("root/proc/1/net"));
  }
  // A command in a mount namespace of its own, or by a program that takes rights away, is behind `prefix`.
  Program serve(std::vector<std::string> prefix = {}, const std::string& root = "") const {
    for (const std::string& word :
         {test::program_path("vfrail"), std::string("serve"), std::string("--root"),
          root.empty() ? this->root() : root, std::string("--config-file"), path("config.json"),
          std::string("--kubelet-root"), path("k"), std::string("--device-info-dir"), path("di"),
          std::string("--run-dir"), path("run"), std::string("--cni-state-dir"), path("cni")})
      prefix.push_back(word);
    return {prefix, {}, ""};
  }
  Outcome inspect(std::vector<std::string> prefix = {}, const std::string& root = "") const {
    for (const std::string& word :
         {test::program_path("vfrail"), std::string("inspect"), std::string("--root"),
          root.empty() ? this->root() : root, std::string("--config-file"), path("config.json"),
          std::string("--kubelet-root"), path("k"), std::string("--output"), std::string("wide")})
      prefix.push_back(word);
    return Program(prefix, {}, "").wait();
  }
  bool is_up() const { return shell("ip link show rail9").find(",UP") != std::string::npos; }
};

bool logs(const Program& program, const std::string& text) {
  return eventually([&] { return program.err().find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("The interface of a shared device is brought up where serve is in the host's namespace") {
  const RoceNode node;
  node.mount_net_of("self");
  REQUIRE_FALSE(node.is_up());
  const Program serve = node.serve();
  CHECK(eventually([&] { return node.is_up(); }));
  CHECK(logs(serve, "the interface of a shared device was down and was brought up interface=rail9"));
}

TEST_CASE("Without NET_ADMIN the interface stays down, and the log says what is missing") {
  const RoceNode node;
  node.mount_net_of("self");
  const Program serve = node.serve({"setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", "--"});
  CHECK(logs(serve, "it cannot be brought up without the capability NET_ADMIN: "));
  CHECK_THAT(serve.err(), Contains(kDown) && Contains("EPERM") && Contains(" id=VF-ADMIN-DOWN"));
  CHECK_FALSE(node.is_up());
}

TEST_CASE("Where serve is not in the host's namespace the interface stays down, with the reason") {
  const RoceNode node;
  node.mount_net_of("1");
  const Program serve = node.serve();
  CHECK(logs(serve, kDown));
  CHECK_THAT(serve.err(),
             Contains("it cannot be brought up from here, which is not the host's network namespace"));
  CHECK_FALSE(node.is_up());
}

TEST_CASE("inspect has the interfaces of shared devices that are down, and brings up none") {
  const RoceNode node;
  node.mount_net_of("self");
  const Outcome outcome = node.inspect();
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, Contains(std::string("warning: ") + kDown));
  CHECK_FALSE(node.is_up());
}

TEST_CASE("In a namespace that has none of the host's interfaces, serve and inspect say so with --root /") {
  const RoceNode node;
  // The card's interface and RDMA device are in another namespace, the host's.
  for (const char* folder : {"net", "infiniband", "infiniband_verbs"})
    fs::remove_all(node.path("root/sys/bus/pci/devices/0000:03:02.1/") + folder);
  fs::remove_all(node.path("root/sys/class/net"));
  const std::vector<std::string> prefix{"unshare",
                                        "--mount",
                                        "/bin/sh",
                                        "-c",
                                        "mount --bind " + node.path("root/sys") + R"( /sys && exec "$@")",
                                        "sh"};
  const std::string said =
      "this is not the host's network namespace: the interfaces of 0000:03:02.1 cannot be seen";
  SECTION("serve advertises nothing") {
    const Program serve = node.serve(prefix, "/");
    CHECK(logs(serve, said));
    CHECK_THAT(serve.err(), Contains("id=VF-HOST-NOT-VISIBLE"));
    CHECK(fs::is_empty(node.path("k/plugins_registry")));
  }
  SECTION("inspect warns") {
    const Outcome outcome = node.inspect(prefix, "/");
    INFO(outcome.err);
    CHECK_THAT(outcome.out, Contains("warning: " + said) && Contains("VF-HOST-NOT-VISIBLE"));
  }
}

}  // namespace vfrail::test
