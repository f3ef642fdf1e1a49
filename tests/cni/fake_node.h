// FakeNode: a node on the fake kernel, on which each verb runs as a process of its own would. Its state and
// run folders, the programs of CNI_PATH, and one pod, /run/netns/a. TwoVfs: with two VFs, each with an RDMA
// device. TrainPod: the same, and its pod is team/train-0, whose interfaces get an address.
#pragma once

#include "cni/verbs/verbs.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/temp_dir.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;

inline constexpr const char* kPod = "/run/netns/a";
inline constexpr const char* kFirstVf = "0000:21:10.0";
inline constexpr const char* kSecondVf = "0000:21:10.2";
// What an IPAM plugin answers.
inline constexpr const char* kOneAddress = R"({"cniVersion":"1.0.0","ips":[{"address":"10.9.0.2/24"}]})";

struct FakeNode {
  FakeNode() : world(dir.path("root")) {
    log.set_level(LogLevel::error);
    std::signal(SIGPIPE, SIG_IGN);  // as main() does
  }

  Request request(Command command, const std::string& config, const std::string& netns = kPod) const {
    auto out = read_request({{"CNI_COMMAND", command_name(command)},
                             {"CNI_CONTAINERID", container},
                             {"CNI_NETNS", netns},
                             {"CNI_IFNAME", "net1"},
                             {"CNI_PATH", dir.path()},
                             {"CNI_ARGS", args}},
                            config);
    REQUIRE(out);
    return *out;
  }

  // What one process does: it opens its own connection to the kernel and the state folder.
  template <class Work>
  auto process(Work work) {
    auto store = makes_state_folder
                     ? RecordStore::open(dir.path("state"), dir.path("locks"))
                     : Result(RecordStore::open_read_only(dir.path("state"), dir.path("locks")));
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
    if (kernel_lists_uppers)
      outside.upper_links = [](Kernel& there, int index) { return there.upper_links(index, {}); };
    outside.rebind = [this](const SysRoot&, const DeviceId& id) {
      auto bound = world.rebind(id.text());
      if (bound && after_rebind) after_rebind();
      if (!bound && after_failed_rebind) after_failed_rebind();
      return bound;
    };
    outside.reset = [this](const SysRoot&, const DeviceId& id) -> Result<std::string> {
      resets.push_back(id.text());
      TRY(world.rebind(id.text()));
      return reset_failure;
    };
    if (print_result) outside.print_result = print_result;
    outside.device_info_folders = {dir.path()};
    outside.cdi_folders = {dir.path()};
    outside.return_timeout = return_timeout;
    outside.lock_timeout = std::chrono::milliseconds(50);
    outside.gid_timeout = std::chrono::milliseconds(50);
    return work(outside);
  }
  template <class Verb>
  auto run(Verb verb, Command command, const std::string& config, const std::string& netns = kPod) {
    return process([&](World& outside) { return verb(request(command, config, netns), outside); });
  }
  Result<AddResult> add(const std::string& config, const std::string& netns = kPod) {
    return run(vfrail::cni::add, Command::add, config, netns);
  }
  Result<> del(const std::string& config, const std::string& netns = kPod) {
    return run(vfrail::cni::del, Command::del, config, netns);
  }
  bool has(const std::string& line) const { return world.snapshot().find(line) != std::string::npos; }
  bool no_state() const {
    return std::filesystem::is_empty(dir.path("state/attachments")) &&
           std::filesystem::is_empty(dir.path("state/devices"));
  }

  // An IPAM plugin: a shell script in the folder of CNI_PATH, which is $node. Its working directory is any.
  void install_ipam(const std::string& name, const std::string& script) const {
    std::ofstream(dir.path(name)) << "#!/bin/sh\nnode=$(dirname \"$0\")\n" << script << "\n";
    std::filesystem::permissions(dir.path(name), std::filesystem::perms::owner_all);
  }
  // One that answers ADD with `result`, and has a file in the folder `leases` for each address in use.
  void install_lease_ipam(const std::string& name, const std::string& result) const {
    std::filesystem::create_directories(dir.path("leases"));
    install_ipam(name,
                 "lease=$node/leases/$CNI_CONTAINERID.$CNI_IFNAME\n"
                 "case $CNI_COMMAND in\n"
                 "ADD) : > \"$lease\"; echo '" +
                     result +
                     "' ;;\n"
                     "DEL) rm -f \"$lease\" ;;\n"
                     "esac\n");
  }
  // What an IPAM script has written.
  std::string text(const std::string& file) const {
    std::ostringstream out;
    out << std::ifstream(dir.path(file)).rdbuf();
    return out.str();
  }

  TempDir dir;
  FakeWorld world;
  Log log;
  std::string container = "c1";
  std::string args = "IgnoreUnknown=1;K8S_POD_NAME=p";
  bool kernel_lists_uppers = true;  // World::upper_links
  bool makes_state_folder = true;   // verbs do, `vfrail-cni sweep` does not
  // For what does not return; a test of what does needs more on a machine with much to do.
  std::chrono::milliseconds return_timeout{50};
  bool paths_gone = false;  // no path leads to a namespace, which the kernel ends in its own time
  std::function<void()> after_rebind;
  std::function<void()> after_failed_rebind;
  std::vector<std::string> resets;  // of which functions
  std::string reset_failure;        // why the next one is not reset although its driver is bound again
  std::function<Result<>(const AddResult&)> print_result;  // World::print_result
};

struct TwoVfs : FakeNode {
  TwoVfs() {
    world.add_vf(kFirstVf, "vf0");
    world.add_vf(kSecondVf, "vf1");
    world.add_rdma(kFirstVf, "mlx5_0");
    world.add_rdma(kSecondVf, "mlx5_1");
    world.add_veth(world.add_netns(kPod), "eth0");
    args = "IgnoreUnknown=1;MAC=02:00:00:00:00:09";
  }
};

struct TrainPod : TwoVfs {
  TrainPod() {
    args = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0";
    install_lease_ipam("fake-ipam", kOneAddress);
  }
};

// Whether `verb` ended as a killed process does (FakeWorld::kill_at).
template <class Verb>
bool killed(Verb verb) {
  try {
    verb();
    return false;
  } catch (const Killed&) {
    return true;
  }
}

}  // namespace vfrail::test
