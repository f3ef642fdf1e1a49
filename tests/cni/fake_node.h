// FakeNode: a fake node with two VFs, each with an RDMA device, and one pod, and the verbs run on it as
// processes of their own would, for container c1 and interface net1.
#pragma once

#include "cni/verbs/verbs.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

namespace vfrail::test {

inline constexpr const char* kPod = "/run/netns/a";

struct FakeNode {
  FakeNode() : world(dir.path("root")) {
    world.add_vf("0000:21:10.0", "vf0");
    world.add_vf("0000:21:10.2", "vf1");
    world.add_rdma("0000:21:10.0", "mlx5_0");
    world.add_rdma("0000:21:10.2", "mlx5_1");
    world.add_veth(world.add_netns(kPod), "eth0");
    log.set_level(LogLevel::error);
  }
  template <class Verb>
  auto run(Verb verb, Command command, const std::string& config, const std::string& netns = kPod) {
    const auto request = read_request({{"CNI_COMMAND", command_name(command)},
                                       {"CNI_CONTAINERID", container},
                                       {"CNI_NETNS", netns},
                                       {"CNI_IFNAME", "net1"},
                                       {"CNI_PATH", dir.path()},
                                       {"CNI_ARGS", "IgnoreUnknown=1;MAC=02:00:00:00:00:09"}},
                                      config);
    REQUIRE(request);
    auto store = RecordStore::open(dir.path("state"), dir.path("locks"));
    REQUIRE(store);
    const auto host = world.open(FakeWorld::kHost);
    World outside{*host,
                  SysRoot(dir.path("root")),
                  *store,
                  dir.path("run"),
                  [this](const std::string& path) {
                    return paths_gone ? Result(std::unique_ptr<Kernel>()) : world.open_path(path);
                  },
                  log};
    if (print_result) outside.print_result = print_result;
    outside.device_info_folders = {dir.path()};
    outside.rebind = [this](const SysRoot&, const DeviceId& id) { return world.rebind(id.text()); };
    outside.return_timeout = std::chrono::milliseconds(50);
    outside.lock_timeout = std::chrono::milliseconds(50);
    return verb(*request, outside);
  }
  Result<AddResult> add(const std::string& config) { return run(vfrail::add, Command::add, config); }
  Result<> del(const std::string& config, const std::string& netns = kPod) {
    return run(vfrail::del, Command::del, config, netns);
  }
  bool has(const std::string& line) const { return world.snapshot().find(line) != std::string::npos; }
  bool no_state() const {
    return std::filesystem::is_empty(dir.path("state/attachments")) &&
           std::filesystem::is_empty(dir.path("state/devices"));
  }

  // An IPAM plugin: a shell script in the folder of CNI_PATH. Its working directory is any.
  void install_ipam(const std::string& name, const std::string& script) {
    std::ofstream(dir.path(name)) << "#!/bin/sh\nnode=$(dirname \"$0\")\n" << script << "\n";
    std::filesystem::permissions(dir.path(name), std::filesystem::perms::owner_all);
  }
  std::string text(const std::string& file) const {
    std::ostringstream out;
    out << std::ifstream(dir.path(file)).rdbuf();
    return out.str();
  }

  TempDir dir{TempDir::On::memory};
  FakeWorld world;
  Log log;
  std::string container = "c1";
  bool paths_gone = false;  // no path leads to a namespace, which the kernel ends in its own time
  std::function<Result<>(const AddResult&)> print_result;  // World::print_result
};

}  // namespace vfrail::test
