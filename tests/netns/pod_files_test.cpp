// The files of a pod by the program itself: two attachments of one container, and what its container gets.
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "common/container/pod_folder.h"
#include "plugin/device/allocate/cdi_folder.h"
#include "tests/netns/node.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

namespace fs = std::filesystem;

// Two devices with RDMA devices on Ethernet that stay in the host (shared mode), allocated with podFiles.
struct TwoRails : Node {
  std::string pod;
  TwoRails() {
    for (const char* number : {"1", "2"}) {
      const std::string device = std::string("0000:03:02.") + number;
      add_device(device, std::string("vf") + number);
      write_tree(root(), "sys/bus/pci/devices/" + device + "/infiniband/mlx5_" + number +
                             "/ports/1/link_layer = InfiniBand\n");
      const CdiSpec spec{
          "nvidia.com/net-pci", device, {.mounts = pod_mounts(default_folder(path("run")), true)}};
      fs::create_directories(path("cdi"));
      REQUIRE(write_cdi_spec(spec_path(device), spec_path(device) + ".new", spec));
      REQUIRE(write_allocated_nodes(path("run"), *DeviceId::parse(device), {{}, spec_path(device)}));
    }
    pod = add_pod("a");
    in_pod(pod, "ip link add eth0 type veth peer name eth0p");
    in_pod(pod, "ip addr add 10.244.0.7/24 dev eth0");
    in_pod(pod, "ip link set eth0 up");
    in_pod(pod, "ip route add default via 10.244.0.1 dev eth0");
  }
  std::string spec_path(const std::string& device) const { return path("cdi/vfrail-" + device + ".json"); }
  void run_verb(const std::string& verb, const std::string& number) const {
    Call call;
    call.verb = verb;
    call.netns = pod;
    call.ifname = "net" + number;
    call.args = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0";
    call.config = config();
    call.config.set("deviceID", "0000:03:02." + number);
    call.config.set("nccl", *Json::parse(R"({"NCCL_IB_TC":"106"})"));
    call.more_environment["VFRAIL_CDI_DIR"] = path("cdi");
    const Outcome outcome = run(call);
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.status == 0);
  }
  std::string folder() const { return pod_folder(path("run"), "pod1"); }
  std::string nccl() const { return read_text(folder() + "/nccl.conf"); }
  std::string source(const std::string& number) const {
    const auto spec = read_cdi_spec(spec_path("0000:03:02." + number));
    REQUIRE(spec);
    REQUIRE(*spec);
    return (*spec)->edits.mounts.at(0).host_path;
  }
};

}  // namespace

TEST_CASE("The files of a pod follow its attachments") {
  TwoRails node;
  const std::string none = default_folder(node.path("run"));
  const std::string rest = "NCCL_SOCKET_IFNAME==eth0\nNCCL_IB_TC=106\n";
  node.run_verb("ADD", "2");
  CHECK(node.nccl() == "# vfrail: net2\nNCCL_IB_HCA==mlx5_2:1\n" + rest);
  CHECK(node.source("2") == node.folder());
  CHECK(node.source("1") == none);
  node.run_verb("ADD", "1");
  CHECK(node.nccl() == "# vfrail: net1 net2\nNCCL_IB_HCA==mlx5_1:1,mlx5_2:1\n" + rest);
  CHECK(node.source("1") == node.folder());
  const Json pod = *Json::parse(read_text(node.folder() + "/pod.json"));
  CHECK(pod.find("pod")->text() == R"({"namespace":"team","name":"train-0"})");
  CHECK(pod.find("interfaces")->as_array()->size() == 2);
  node.run_verb("DEL", "1");
  CHECK(node.nccl() == "# vfrail: net2\nNCCL_IB_HCA==mlx5_2:1\n" + rest);
  CHECK(node.source("1") == none);
  CHECK(node.source("2") == node.folder());
  node.run_verb("DEL", "2");
  CHECK_FALSE(fs::exists(node.folder()));
  CHECK(node.source("2") == none);
}

TEST_CASE("A spec that only vfrail-cni has read is one that no runtime has read") {
  TwoRails node;
  node.run_verb("ADD", "1");
  node.run_verb("ADD", "2");  // reads the spec of the first again
  const auto unread = [&] {
    return find_unread_specs(node.path("cdi"),
                             [](const std::string& id) { return id.starts_with("0000:03:02."); });
  };
  const time_t long_ago = ::time(nullptr) - 1000;
  for (const char* device : {"0000:03:02.1", "0000:03:02.2"}) {
    const timespec times[2] = {{0, UTIME_OMIT}, {long_ago, 0}};
    REQUIRE(::utimensat(AT_FDCWD, node.spec_path(device).c_str(), times, 0) == 0);
  }
  struct statvfs mount {};
  REQUIRE(::statvfs(node.path("cdi").c_str(), &mount) == 0);
  if ((mount.f_flag & ST_NOATIME) != 0) return;
  auto names = unread();
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"vfrail-0000:03:02.1.json", "vfrail-0000:03:02.2.json"});
  shell("cat " + node.spec_path("0000:03:02.1"));
  CHECK(unread() == std::vector<std::string>{"vfrail-0000:03:02.2.json"});
}

TEST_CASE("The files can be read by every user, whatever the runtime's umask is") {
  TwoRails node;
  const mode_t before = ::umask(0077);
  node.run_verb("ADD", "1");
  ::umask(before);
  const auto mode = [](const std::string& path) { return fs::status(path).permissions() & fs::perms::mask; };
  CHECK(mode(node.folder()) == fs::perms(0755));
  for (const char* file : {"nccl.conf", "ucx.conf", "pod.json"})
    CHECK(mode(node.folder() + "/" + file) == fs::perms(0644));
}

}  // namespace vfrail::test
