// What `vfrail-kube controller` takes of the memory with a thousand networks. Run by hand:
//   VFRAIL_KUBE=build/release/bin/vfrail-kube build/dev/bin/kube_tests '[1000]'
// The API server is simulated and in this process; VFRAIL_KUBE names the program.
#include "tests/kube/controller/fake_cluster.h"
#include "tests/kube/kubeconfig.h"
#include "tests/kube/node/node_cases.h"
#include "tests/support/places.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>

namespace vfrail::kube {

namespace {

constexpr size_t kNetworks = 1000;

class Started {
 public:
  Started(const std::string& kubeconfig, const std::string& log) {
    const char* named = std::getenv("VFRAIL_KUBE");
    std::vector<std::string> words{named != nullptr ? named : test::program_path("vfrail-kube"),
                                   "controller",
                                   "--kubeconfig",
                                   kubeconfig,
                                   "--namespace",
                                   "kube-system"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int fd : {1, 2})
      posix_spawn_file_actions_addopen(&actions, fd, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(::posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

  void say_memory(const char* when) const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    std::string line, out;
    while (std::getline(status, line)) {
      for (const char* name : {"VmRSS:", "VmHWM:", "RssAnon:", "RssFile:"}) {
        if (line.starts_with(name))
          out += std::to_string(std::strtoul(line.c_str() + 8, nullptr, 10)) + " | ";
      }
    }
    std::printf("| %s | %s\n", when, out.c_str());
  }

 private:
  pid_t pid_ = -1;
};

Json network(size_t number) {
  const std::string ipam =
      R"({"type":"whereabouts","datastore":"kubernetes","kubernetes":{"kubeconfig":"/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"},"range":"10.)" +
      std::to_string(number / 250) + "." + std::to_string(number % 250) +
      R"(.0/24","log_file":"/var/log/whereabouts.log","log_level":"info"})";
  return Json::object()
      .set("metadata", Json::object()
                           .set("name", "rail-" + std::to_string(number))
                           .set("uid", "3f0c1a52-7d4e-4d4a-9a51-" + std::to_string(100'000'000'000 + number))
                           .set("generation", 1))
      .set(
          "spec",
          Json::object().set("networkNamespace", "default").set("resourceName", "hostdev").set("ipam", ipam));
}

}  // namespace

TEST_CASE("the controller with a thousand networks", "[.][1000]") {
  const test::TempDir folder;
  FakeCluster cluster;
  cluster.put("namespaces", Json::object()
                                .set("metadata", Json::object().set("name", "default"))
                                .set("status", Json::object().set("phase", "Active")));
  cluster.put(
      "nodes",
      *Json::parse(R"({"metadata":{"name":"n"},"status":{"allocatable":{"nvidia.com/hostdev":"8"}}})"));
  const std::string kubeconfig = kubeconfig_of(cluster.server(), folder);
  const auto wait = [](unsigned seconds) { std::this_thread::sleep_for(std::chrono::seconds(seconds)); };
  std::printf("| | kB at most | kB resident | of them anonymous | of files |\n|---|---|---|---|---|\n");
  {
    const Started controller(kubeconfig, folder.path("log"));
    wait(5);
    controller.say_memory("without a network");
    for (size_t i = 0; i < kNetworks; ++i) cluster.put("hostdevicenetworks", network(i));
    CHECK(test::comes_true([&] { return cluster.count("network-attachment-definitions") == kNetworks; }));
    wait(10);
    controller.say_memory("with all");
  }
  const Started controller(kubeconfig, folder.path("log"));
  wait(10);
  controller.say_memory("begun again");
}

}  // namespace vfrail::kube
