// test-kubelet: a kubelet for scripts, see test_kubelet.h. `run` plays it, the other commands ask the one
// that runs.
#include "common/files.h"
#include "tests/kubelet/control.h"
#include "tests/kubelet/test_kubelet.h"

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <poll.h>
#include <string>
#include <sys/signalfd.h>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

using namespace vfrail;
using namespace vfrail::plugin;
using namespace vfrail::test;

struct Options {
  std::string kubelet_root;
  std::string wait;
  double timeout_s = 10;
  bool json = false;
  std::string resource;
  int64_t count = 0;
  std::string pod;
  std::vector<std::string> ids;
};

// Prints events, and keeps DIR/node.json up to date on the thread that waits for signals: events come on
// others.
class Reporter {
 public:
  explicit Reporter(std::string file) : file_(std::move(file)) {}

  void event(const std::string& line) {
    const std::lock_guard lock(mutex_);
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  void save(const KubeletNode& node) const {
    const auto saved = write_file(file_, node_json(node).pretty() + "\n", 0644, Durability::renamed);
    if (!saved) std::fprintf(stderr, "test-kubelet: %s\n", saved.error().text.c_str());
  }

 private:
  const std::string file_;
  std::mutex mutex_;
};

int run(const Options& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const UniqueFd stop(::signalfd(-1, &signals, SFD_CLOEXEC));

  Reporter reporter(options.kubelet_root + "/node.json");
  TestKubelet kubelet(options.kubelet_root, [&](const std::string& line) { reporter.event(line); });
  const Control control(kubelet, control_socket(options.kubelet_root));
  reporter.event("test kubelet serves " + options.kubelet_root);
  Json saved;
  for (pollfd fd{stop.get(), POLLIN, 0};;) {
    if (Json now = node_json(kubelet.node()); !(now == saved)) {
      reporter.save(kubelet.node());
      saved = std::move(now);
    }
    // Checks the signal between two changes of the node; a change is waited for, a signal takes 50 ms at
    // most.
    kubelet.wait(std::chrono::milliseconds{50},
                 [&](const KubeletNode& node) { return !(node_json(node) == saved); });
    if (::poll(&fd, 1, 0) > 0) return 0;
  }
}

int print(const Result<Json>& answer, bool as_json = true) {
  if (!answer) {
    std::fprintf(stderr, "test-kubelet: %s\n", answer.error().text.c_str());
    return 1;
  }
  if (as_json) {
    std::printf("%s\n", answer->pretty().c_str());
    return 0;
  }
  for (const auto& [resource, facts] : *answer->as_object()) {
    std::printf("%s: %s\n", resource.c_str(), facts.find("allocatable")->text().c_str());
  }
  return 0;
}

int capacity(const Options& options) {
  Json request;
  request.set("do", "capacity");
  if (!options.wait.empty()) {
    const size_t equals = options.wait.rfind('=');
    if (equals == std::string::npos) {
      std::fprintf(stderr, "test-kubelet: --wait RESOURCE=N\n");
      return 2;
    }
    request.set("resource", options.wait.substr(0, equals));
    request.set("count", std::stoi(options.wait.substr(equals + 1)));
    request.set("timeout_ms", static_cast<int64_t>(options.timeout_s * 1000));
  }
  return print(ask(control_socket(options.kubelet_root), request), options.json);
}

Json ids_request(const char* what, const Options& options) {
  Json ids = Json::array();
  for (const std::string& id : options.ids) ids.push(id);
  Json request;
  request.set("do", what)
      .set("resource", options.resource)
      .set("count", options.count)
      .set("ids", std::move(ids))
      .set("pod", options.pod);
  return request;
}

int main_or_throw(int argc, char** argv) {
  CLI::App app("Plays kubelet's device manager for tests", "test-kubelet");
  app.require_subcommand(1);
  Options options;
  const auto command = [&](const char* name, const char* about) {
    CLI::App* out = app.add_subcommand(name, about);
    out->add_option("--kubelet-root", options.kubelet_root, "The folder that stands for /var/lib/kubelet")
        ->required();
    return out;
  };
  CLI::App* running = command("run", "Serve until TERM; one line on stdout for each event, DIR/node.json");
  CLI::App* asking = command("capacity", "Print \"RESOURCE: N\", N being what is allocatable");
  asking->add_option("--wait", options.wait, "RESOURCE=N: wait until that is so");
  asking->add_option("--timeout", options.timeout_s, "Seconds to wait");
  asking->add_flag("--json", options.json, "Print what node.json has");
  CLI::App* allocating = command("allocate", "Allocate devices for one container and print the answer");
  allocating->add_option("RESOURCE", options.resource)->required();
  allocating->add_option("COUNT", options.count, "That many free devices, in order");
  allocating->add_option("--ids", options.ids, "These devices")->delimiter(',');
  allocating->add_option("--pod", options.pod, "NAMESPACE/POD/CONTAINER that has them, for pod-resources");
  CLI::App* surveying = command("survey", "Print all resources, and the answers to Allocate for each device");
  CLI::App* freeing = command("free", "Give devices back");
  freeing->add_option("--ids", options.ids, "These devices")->delimiter(',')->required();
  CLI::App* restarting = command("restart", "As `systemctl restart kubelet`");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::string socket = control_socket(options.kubelet_root);
  if (running->parsed()) return run(options);
  if (asking->parsed()) return capacity(options);
  if (allocating->parsed()) return print(ask(socket, ids_request("allocate", options)));
  if (surveying->parsed()) return print(ask(socket, ids_request("survey", options)), true);
  if (freeing->parsed()) return print(ask(socket, ids_request("free", options)));
  if (restarting->parsed()) return print(ask(socket, ids_request("restart", options)));
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return main_or_throw(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "test-kubelet: %s\n", failure.what());
    return 1;
  }
}
