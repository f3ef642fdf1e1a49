// The files of a pod, and their way into its containers, over the verbs: after each ADD and DEL, without CDI,
// and when something of it fails.
#include "cni/steps/pod_files_step.h"
#include "cni/sweep/sweep.h"
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "common/container/pod_folder.h"
#include "common/files.h"
#include "tests/cni/fake_node.h"

#include <algorithm>
#include <sys/stat.h>

namespace vfrail::test {
using namespace cni;
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

// A pod with two networks, whose devices were allocated with podFiles.
struct FilesNode : TrainPod {
  explicit FilesNode(bool cdi = true) {
    REQUIRE(log.open_file(dir.path("log")));
    log.set_level(LogLevel::warning);
    for (const char* device : {kFirstVf, kSecondVf}) cdi ? allocate_by_cdi(device) : allocate(device);
  }
  std::string run_folder() const { return dir.path("run"); }
  std::string spec_path(const std::string& device) const { return dir.path("vfrail-" + device + ".json"); }
  std::string folder() const { return pod_folder(run_folder(), container); }

  // As the device plugin does it.
  void allocate_by_cdi(const std::string& device) const {
    const CdiSpec spec{
        "nvidia.com/net-pci", device, {.mounts = pod_mounts(default_folder(run_folder()), true)}};
    REQUIRE(write_cdi_spec(spec_path(device), dir.path("spec.new"), spec));
    REQUIRE(write_allocated_nodes(run_folder(), *DeviceId::parse(device), {{}, spec_path(device)}));
  }
  void allocate(const std::string& device) const {
    fs::create_directories(device_files_folder(run_folder(), device));
    std::ofstream(device_files_folder(run_folder(), device) + "/" + kNcclFile);
  }

  auto verb(Command command, const std::string& ifname, const std::string& device) {
    return process([&](World& outside) -> Result<> {
      Request wanted = request(command, config(device));
      wanted.ifname = *IfName::parse(ifname);
      if (command == Command::del) return vfrail::cni::del(wanted, outside);
      const auto added = vfrail::cni::add(wanted, outside);
      return added ? Result<>() : added.error();
    });
  }
  void add(const std::string& ifname, const std::string& device) {
    const auto added = verb(Command::add, ifname, device);
    if (!added) FAIL(added.error().text);
  }
  void del(const std::string& ifname, const std::string& device) {
    const auto deleted = verb(Command::del, ifname, device);
    if (!deleted) FAIL(deleted.error().text);
  }
  static std::string config(const std::string& device) {
    return R"({"cniVersion":"1.0.0","name":"rail","type":"vfrail","nccl":{"NCCL_IB_TC":"106"},"deviceID":")" +
           device + R"(","ipam":{"type":"fake-ipam"}})";
  }
  SweepReport sweep() {
    return process([](World& outside) { return *vfrail::cni::sweep(outside, {}); });
  }

  std::string file(const std::string& path) const {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  std::string nccl() const { return file(folder() + "/nccl.conf"); }
  // Where the containers with that device have their folder from; both mounts agree.
  std::string source(const std::string& device) const {
    const auto spec = read_cdi_spec(spec_path(device));
    REQUIRE(spec);
    REQUIRE(*spec);
    const auto& mounts = (*spec)->edits.mounts;
    REQUIRE(mounts.size() == 2);
    CHECK(mounts[1].host_path == mounts[0].host_path + "/nccl.conf");
    return mounts[0].host_path;
  }
};

constexpr const char* kBoth =
    "# vfrail: net1 net2\nNCCL_IB_HCA==mlx5_0:1,mlx5_1:1\nNCCL_IB_GID_INDEX=3\nNCCL_IB_TC=106\n";

}  // namespace

TEST_CASE("the files have all networks of the pod after each ADD and DEL, and end with the last one") {
  FilesNode node;
  const std::string none = default_folder(node.run_folder());
  node.add("net1", kFirstVf);
  CHECK(node.nccl() == "# vfrail: net1\nNCCL_IB_HCA==mlx5_0:1\nNCCL_IB_GID_INDEX=3\nNCCL_IB_TC=106\n");
  CHECK(node.source(kFirstVf) == node.folder());
  CHECK(node.source(kSecondVf) == none);
  node.add("net2", kSecondVf);
  CHECK(node.nccl() == kBoth);
  CHECK(node.file(node.folder() + "/ucx.conf") == "# vfrail: net1 net2\nUCX_NET_DEVICES=mlx5_0:1,mlx5_1:1\n");
  CHECK_THAT(node.file(node.folder() + "/pod.json"), Contains("\"train-0\"") && Contains("\"net2\""));
  for (const char* device : {kFirstVf, kSecondVf}) CHECK(node.source(device) == node.folder());
  CHECK((fs::status(node.folder()).permissions() & fs::perms::mask) == fs::perms(0755));
  CHECK((fs::status(node.folder() + "/nccl.conf").permissions() & fs::perms::mask) == fs::perms(0644));
  node.del("net1", kFirstVf);
  CHECK(node.nccl() == "# vfrail: net2\nNCCL_IB_HCA==mlx5_1:1\nNCCL_IB_GID_INDEX=3\nNCCL_IB_TC=106\n");
  CHECK(node.source(kFirstVf) == none);
  CHECK(node.source(kSecondVf) == node.folder());
  node.del("net2", kSecondVf);
  CHECK_FALSE(fs::exists(node.folder()));
  CHECK(node.source(kSecondVf) == none);
  CHECK(node.no_state());
  CHECK(node.text("log").empty());
}

TEST_CASE("a sandbox that is made again without another Allocate has its own files") {
  FilesNode node;
  node.add("net1", kFirstVf);
  const std::string old = node.folder();
  // Its DEL comes late, when another sandbox has the device already.
  node.world.end_netns(kPod);
  node.world.add_veth(node.world.add_netns(kPod), "eth0");
  node.container = "c2";
  node.add("net1", kFirstVf);
  CHECK(node.source(kFirstVf) == node.folder());
  node.container = "c1";
  node.del("net1", kFirstVf);
  CHECK_FALSE(fs::exists(old));
  CHECK(node.source(kFirstVf) == pod_folder(node.run_folder(), "c2"));
}

TEST_CASE("without CDI each device's folder has the files of the whole pod, and is empty after DEL") {
  FilesNode node(false);
  node.add("net1", kFirstVf);
  node.add("net2", kSecondVf);
  for (const char* device : {kFirstVf, kSecondVf}) {
    const std::string folder = device_files_folder(node.run_folder(), device);
    CHECK(node.file(folder + "/nccl.conf") == kBoth);
    CHECK(fs::exists(folder + "/pod.json"));
  }
  node.del("net1", kFirstVf);
  const std::string folder = device_files_folder(node.run_folder(), kFirstVf);
  CHECK(fs::file_size(folder + "/nccl.conf") == 0);
  CHECK_FALSE(fs::exists(folder + "/pod.json"));
  CHECK_THAT(node.file(device_files_folder(node.run_folder(), kSecondVf) + "/nccl.conf"),
             Contains("# vfrail: net2\n"));
}

TEST_CASE("a folder of the device plugin that is a link leads nowhere") {
  FilesNode node(false);
  const std::string folder = device_files_folder(node.run_folder(), kFirstVf);
  fs::remove_all(folder);
  fs::create_directories(node.dir.path("elsewhere"));
  fs::create_symlink(node.dir.path("elsewhere"), folder);
  node.add("net1", kFirstVf);
  CHECK(fs::is_empty(node.dir.path("elsewhere")));
  CHECK_THAT(node.text("log"), Contains("VF-POD-FILES") && Contains("link"));
}

TEST_CASE("files that cannot be written fail no pod, and its containers keep the default") {
  FilesNode node;
  std::ofstream(node.dir.path("run/pods")) << "in the way";
  node.add("net1", kFirstVf);
  CHECK(node.source(kFirstVf) == default_folder(node.run_folder()));
  CHECK_THAT(node.text("log"), Contains("VF-POD-FILES") && Contains("run/pods"));
  node.del("net1", kFirstVf);
  CHECK(node.no_state());
}

TEST_CASE("files that DEL cannot remove fail no DEL, and a sweep removes them") {
  FilesNode node;
  node.add("net1", kFirstVf);
  // Somebody has broken the spec, and mends it later.
  const std::string spec = node.file(node.spec_path(kFirstVf));
  std::ofstream(node.spec_path(kFirstVf)) << "{";
  node.del("net1", kFirstVf);
  CHECK_THAT(node.text("log"), Contains("VF-POD-FILES"));
  CHECK(node.no_state());
  std::ofstream(node.spec_path(kFirstVf)) << spec;
  CHECK(node.source(kFirstVf) == node.folder());
  const SweepReport report = node.sweep();
  CHECK(report.all_well());
  CHECK_THAT(report.text(), Contains("files of container c1"));
  CHECK_FALSE(fs::exists(node.folder()));
  CHECK(node.source(kFirstVf) == default_folder(node.run_folder()));
  CHECK_THAT(node.sweep().text(), !Contains("files of container"));
}

TEST_CASE("a killed DEL, after which an ADD of the same name is refused, leaves no files") {
  int refused_without_a_device = 0;
  for (int call = 1;; ++call) {
    CAPTURE(call);
    FilesNode node;
    node.add("net1", kFirstVf);
    node.world.forget_faults();
    node.world.kill_call(call);
    const bool died = killed([&] { (void)node.verb(Command::del, "net1", kFirstVf); });
    node.world.forget_faults();
    const auto added = node.verb(Command::add, "net1", "0000:21:1f.7");
    REQUIRE_FALSE(added);
    if (added.error().code != Errc::exists) ++refused_without_a_device;
    node.del("net1", kFirstVf);
    CHECK_FALSE(fs::exists(node.folder()));
    if (!died) break;
  }
  CHECK(refused_without_a_device > 5);
}

TEST_CASE("DEL of the last attachment, whose record cannot be read, removes the files") {
  FilesNode node;
  node.add("net1", kFirstVf);
  for (const auto& record : fs::directory_iterator(node.dir.path("state/attachments")))
    if (record.is_regular_file()) std::ofstream(record.path()) << "{";
  node.del("net1", kFirstVf);
  CHECK_FALSE(fs::exists(node.folder()));
  CHECK(node.source(kFirstVf) == default_folder(node.run_folder()));
}

TEST_CASE("the pod's files are not written by another process until the record of a DEL is removed") {
  FilesNode node;
  node.add("net1", kFirstVf);
  node.process([&](World& first) {
    const auto record = *first.store.load({node.container, "net1"});
    const auto lock = restore_pod_files(*record, first);
    REQUIRE(lock);
    node.process([&](World& second) {
      CHECK(write_pod_files(node.container, second).error().code == Errc::busy);
      return 0;
    });
    return 0;
  });
  CHECK_FALSE(fs::exists(node.folder()));
}

TEST_CASE("a late DEL without CDI leaves the files of the pod that has the device by now") {
  FilesNode node(false);
  node.add("net1", kFirstVf);
  node.world.end_netns(kPod);
  node.world.add_veth(node.world.add_netns(kPod), "eth0");
  node.container = "c2";
  node.add("net1", kFirstVf);
  const std::string files = device_files_folder(node.run_folder(), kFirstVf) + "/";
  const std::string before = node.file(files + kNcclFile);
  CHECK_THAT(before, Contains("NCCL_IB_HCA"));
  node.container = "c1";
  node.del("net1", kFirstVf);
  CHECK(node.file(files + kNcclFile) == before);
  CHECK(fs::exists(files + kPodFile));
}

TEST_CASE("a CDI spec whose device is no device names no file that is locked, and so removed") {
  FilesNode node;
  node.process([](World&) { return 0; });  // makes the folders
  fs::create_directories(node.folder());
  const CdiSpec spec{"nvidia.com/net-pci", "../theirs", {.mounts = pod_mounts(node.folder(), true)}};
  REQUIRE(write_cdi_spec(node.spec_path("x"), node.dir.path("spec.new"), spec));
  std::ofstream(node.dir.path("theirs")) << "kept";
  node.process([&](World& world) {
    CHECK(remove_abandoned_pod_folder(node.container, world).ok());
    return 0;
  });
  CHECK(node.text("theirs") == "kept");
}

TEST_CASE("a mount of somebody else is left alone") {
  FilesNode node;
  auto spec = **read_cdi_spec(node.spec_path(kFirstVf));
  spec.edits.mounts = {{"/opt/theirs", "/run/vfrail"}, {"/opt/nccl.conf", "/etc/nccl.conf"}};
  REQUIRE(write_cdi_spec(node.spec_path(kFirstVf), node.dir.path("spec.new"), spec));
  node.add("net1", kFirstVf);
  CHECK((**read_cdi_spec(node.spec_path(kFirstVf))).edits == spec.edits);
  CHECK_FALSE(node.nccl().empty());
}

TEST_CASE("an ADD that is rolled back leaves no files") {
  FilesNode node;
  node.print_result = [](const AddResult&) { return Error{Errc::system, 0, "the runtime is gone"}; };
  CHECK_FALSE(node.verb(Command::add, "net1", kFirstVf));
  CHECK_FALSE(fs::exists(node.folder()));
  CHECK(node.source(kFirstVf) == default_folder(node.run_folder()));
}

TEST_CASE("an ADD that is killed at any call of the kernel leaves files that its DEL removes") {
  for (int call = 1;; ++call) {
    CAPTURE(call);
    FilesNode node;
    node.world.kill_call(call);
    const bool died = killed([&] { (void)node.verb(Command::add, "net1", kFirstVf); });
    node.world.forget_faults();
    node.del("net1", kFirstVf);
    CHECK_FALSE(fs::exists(node.folder()));
    CHECK(node.source(kFirstVf) == default_folder(node.run_folder()));
    if (!died) return;
  }
}

TEST_CASE("a link in the place of the pods' folders leads nowhere") {
  FilesNode node;
  const fs::path elsewhere = node.dir.path("elsewhere");
  fs::create_directories(elsewhere / "c9");
  std::ofstream(elsewhere / "c9" / "keep") << "safe";
  fs::create_directories(node.run_folder());
  fs::create_directory_symlink(elsewhere, node.run_folder() + "/pods");
  REQUIRE(node.verb(Command::add, "net1", kFirstVf));  // files fail no pod
  CHECK_FALSE(fs::exists(elsewhere / "c1"));
  CHECK(node.verb(Command::del, "net1", kFirstVf));
  CHECK_FALSE(node.process([](World& world) { return remove_abandoned_pod_folder("c9", world); }).ok());
  const SweepReport report = node.sweep();
  CHECK_FALSE(report.all_well());
  CHECK_THAT(report.text(), Contains("files of pods: ") && Contains("/pods is not a folder but a link"));
  CHECK(fs::exists(elsewhere / "c9" / "keep"));
}

TEST_CASE("a FIFO, a link or a folder at the temporary name of a pod's file stops neither ADD nor DEL") {
  FilesNode node(false);
  const std::string folder = device_files_folder(node.run_folder(), kFirstVf);
  const std::string temporary = folder + "/nccl.conf.new";
  SECTION("a FIFO") { REQUIRE(::mkfifo(temporary.c_str(), 0600) == 0); }
  SECTION("a link") { fs::create_symlink(node.dir.path("victim"), temporary); }
  SECTION("a folder") { fs::create_directories(temporary + "/x"); }
  REQUIRE(node.verb(Command::add, "net1", kFirstVf));
  CHECK_THAT(read_file(folder + "/nccl.conf", 10'000).value_or(std::nullopt).value_or(""), Contains("NCCL_"));
  REQUIRE(node.verb(Command::del, "net1", kFirstVf));
  CHECK(fs::file_size(folder + "/nccl.conf") == 0);
  CHECK_FALSE(fs::exists(node.dir.path("victim")));
}

}  // namespace vfrail::test
