// What `kubectl vfrail` takes of a cluster of 500 nodes: requests, bytes, time and memory. Run by hand:
//   build/dev/bin/kube_tests '[500]'
// The API server is simulated and in this process, so that its time is in the figures; VFRAIL_KUBE names the
// program.
#include "common/files.h"
#include "plugin/admin/report/inspect.h"
#include "tests/kube/kubeconfig.h"
#include "tests/kube/simulated_cluster.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"
#include "tests/support/places.h"
#include "tests/support/temp_dir.h"

#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>

namespace vfrail::kube {

namespace {

using test::TempDir;

std::string page_of_captured_node(const TempDir& folder) {
  const test::Tree tree("igb_node");
  plugin::InspectOptions options;
  options.root = tree.root();
  options.output = plugin::InspectOptions::Output::json;
  options.config_file = folder.path("config.json");
  REQUIRE(write_file(
      options.config_file,
      R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev","selectors":{"drivers":["igbvf"]}}]})",
      0600, Durability::renamed));
  return test::run([&] {
           return plugin::inspect(options, [](const std::string&) {
             return Result<plugin::DevicesInUse>(Error{Errc::not_found, 0, "no kubelet"});
           });
         })
      .out;
}

// Runs the program with its output in a file, and prints what it took.
void measure(SimulatedCluster& cluster, const std::string& program, std::vector<std::string> words,
             const std::string& output) {
  const uint64_t requests = cluster.requests();
  const uint64_t bytes = cluster.bytes();
  const size_t connections = cluster.server().connections();
  const auto begin = std::chrono::steady_clock::now();
  std::string title;
  for (size_t i = 0; i + 2 < words.size(); ++i) title += words[i] + " ";
  words.insert(words.begin(), program);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  REQUIRE(::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage usage{};
  REQUIRE(::wait4(pid, &status, 0, &usage) == pid);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  std::printf("| `%s` | %llu | %zu | %.1f | %.1f | %.1f | %.1f |\n", title.c_str(),
              static_cast<unsigned long long>(cluster.requests() - requests),
              cluster.server().connections() - connections,
              static_cast<double>(cluster.bytes() - bytes) / 1e6, seconds, cpu,
              static_cast<double>(usage.ru_maxrss) / 1024);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace

TEST_CASE("kubectl vfrail of 500 nodes", "[.][500]") {
  const char* named = std::getenv("VFRAIL_KUBE");
  const std::string program = named != nullptr ? named : test::program_path("vfrail-kube");
  const TempDir folder;
  const std::string page = page_of_captured_node(folder);
  SimulatedCluster cluster({.count = 500, .page = page});
  const std::string kubeconfig = kubeconfig_of(cluster.server(), folder);
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--kubeconfig", kubeconfig});
    measure(cluster, program, words, folder.path("output"));
  };
  std::printf(
      "page of a node: %zu bytes\n| | requests | connections | MB | seconds | CPU s | MB resident |\n"
      "|---|---|---|---|---|---|---|\n",
      page.size());
  run({"nodes"});
  run({"devices"});
  run({"devices", "--traffic"});
  run({"pods"});
  run({"networks"});
  SimulatedCluster fewer({.count = 64});
  const std::string second = kubeconfig_of(fewer.server(), folder);
  measure(fewer, program, {"test", "--seconds", "1", "--kubeconfig", second}, folder.path("output"));
}

}  // namespace vfrail::kube
