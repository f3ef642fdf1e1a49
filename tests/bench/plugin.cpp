// What `vfrail serve` costs on a node of N made-up VFs: time to the registered list, a scan, a change,
// Allocate, and memory and CPU at rest. Prints one line for each N. Argument: the program, then the numbers
// of VFs.
#include "common/unique_fd.h"
#include "plugin/device/advertise/keep_in_use.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/inventory/inventory.h"
#include "tests/bench/node_tree.h"
#include "tests/kubelet/plugin_client.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

extern char** environ;

namespace {

using namespace vfrail;
using namespace vfrail::plugin;
using namespace vfrail::test;
using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr const char* kResource = "nvidia.com/hostdev";
constexpr int kAllocations = 500;
constexpr int kScans = 20;
constexpr int kScrapes = 50;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

// "VmRSS:  17000 kB" of /proc/PID/status, in MB.
double resident_mb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

// User and system time so far, of all threads, also of those that have ended.
double cpu_ms(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    throw std::runtime_error("cannot read the CPU time of the program");
  return 1e3 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e6;
}

class Program {
 public:
  Program(const std::vector<std::string>& arguments) {
    std::vector<char*> argv;
    for (const std::string& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
    argv.push_back(nullptr);
    if (::posix_spawn(&pid_, argv[0], nullptr, nullptr, argv.data(), environ) != 0)
      throw std::runtime_error("cannot start " + arguments[0]);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

class BenchNode {
 public:
  BenchNode(const std::string& program, size_t vfs) : vfs_(vfs), program_(program) {
    bench::write_node(root(), vfs);
    configure(R"("isRdma":true)");
  }

  void configure(const std::string& selector) const {
    const std::string file = folder_.path("config.json");
    std::ofstream(file + ".new")
        << R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev",)"
        << R"("selectors":{)" << selector << "}}]}";
    std::filesystem::rename(file + ".new", file);
  }
  std::string root() const { return folder_.path("root"); }
  std::string kubelet() const { return folder_.path("kubelet"); }
  std::string socket() const { return kubelet() + "/plugins_registry/nvidia.com_hostdev.sock"; }
  std::vector<std::string> command() const {
    return {program_,
            "serve",
            "--root",
            root(),
            "--config-file",
            folder_.path("config.json"),
            "--kubelet-root",
            kubelet(),
            "--device-info-dir",
            folder_.path("devinfo"),
            "--run-dir",
            folder_.path("run"),
            "--metrics-address",
            "unix:" + metrics(),
            "--log-level",
            "error"};
  }
  std::string metrics() const { return folder_.path("metrics.sock"); }
  size_t vfs() const { return vfs_; }

 private:
  const TempDir folder_;
  const size_t vfs_;
  const std::string program_;
};

void wait_for(const TestKubelet& kubelet, size_t devices) {
  if (!kubelet.wait_for(kResource, devices, seconds{60}))
    throw std::runtime_error("the list did not come: " + std::to_string(devices) + " devices");
}

std::vector<double> time_scans(const BenchNode& node) {
  std::vector<double> out;
  for (int i = 0; i < kScans; ++i) {
    const auto begin = Clock::now();
    if (!scan(SysRoot(node.root()), nullptr)) throw std::runtime_error("cannot scan");
    out.push_back(ms_since(begin));
  }
  return out;
}

// Of what a scan costs more when containers have all devices: if they are there, if none is (the pools are
// empty, and each device is kept with the reason), and if another pool has them all.
void measure_in_use(const std::string& program, size_t vfs) {
  const BenchNode node(program, vfs);
  const auto config = parse_config(
      R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev","selectors":{}}]})",
      {"config.json", "intel.com", true});
  const auto inventory = scan(SysRoot(node.root()), nullptr);
  if (!config || !inventory) throw std::runtime_error("cannot scan");
  const Pools pools = match(*config, *inventory);
  DevicesInUse in_use;
  for (const PoolDevice& device : pools.pools[0].devices)
    in_use.resources[kResource][device.id()] = {"default", "pod", "container"};
  Pools none = pools;
  none.pools[0].devices.clear();
  Pools others = none;
  others.pools.push_back(pools.pools[0]);
  others.pools[1].config.name = "other";
  for (PoolDevice& device : others.pools[1].devices) device.facts.netdevs.clear();  // it is in the container
  std::vector<double> took;
  for (const Pools* before : {&pools, static_cast<const Pools*>(&none), static_cast<const Pools*>(&others)}) {
    std::vector<double> times;
    for (int i = 0; i < kScans; ++i) {
      Pools now = *before;
      const auto begin = Clock::now();
      keep_in_use(now, in_use);
      times.push_back(ms_since(begin));
    }
    took.push_back(percentile(times, 0.5));
  }
  std::printf(
      "%zu VFs in use: keep_in_use() %.2f ms, %.2f ms with none of them seen, %.2f ms with all of them "
      "in another pool\n",
      vfs, took[0], took[1], took[2]);
}

// Over the plugin's own socket: the test kubelet would add its bookkeeping.
std::vector<double> time_allocations(const BenchNode& node) {
  auto client = PluginClient::connect(node.socket(), seconds{5});
  if (!client) throw std::runtime_error(client.error().text);
  std::vector<double> out;
  for (int i = 0; i < kAllocations; ++i) {
    v1beta1::AllocateRequest request;
    request.add_container_requests()->add_devices_ids(bench::vf_address(static_cast<size_t>(i) % 8, 0));
    v1beta1::AllocateResponse response;
    const auto begin = Clock::now();
    if (!(*client)->allocate(request, response).ok()) throw std::runtime_error("Allocate failed");
    out.push_back(ms_since(begin));
  }
  return out;
}

// A VF is removed, and the plugin is to rescan, as after an event.
double time_change(const BenchNode& node, const TestKubelet& kubelet, pid_t pid) {
  const std::string vf = node.root() + "/sys/bus/pci/devices/0000:10:01.0";
  const auto target = std::filesystem::read_symlink(vf);
  std::filesystem::remove(vf);
  const auto begin = Clock::now();
  ::kill(pid, SIGHUP);
  wait_for(kubelet, node.vfs() - 1);
  const double out = ms_since(begin);
  std::filesystem::create_symlink(target, vf);
  ::kill(pid, SIGHUP);
  wait_for(kubelet, node.vfs());
  return out;
}

double time_reload(const BenchNode& node, const TestKubelet& kubelet) {
  const auto begin = Clock::now();
  node.configure(R"("isRdma":true,"numaNodes":[0])");
  wait_for(kubelet, node.vfs() / 2);
  return ms_since(begin);
}

struct Scrapes {
  double cpu_ms = 0;
  double kilobytes = 0;
};

size_t scrape(const std::string& socket) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: node\r\n\r\n";
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::write(fd.get(), request.data(), request.size()) != static_cast<ssize_t>(request.size()))
    throw std::runtime_error("cannot scrape");
  size_t out = 0;
  std::vector<char> buffer(1 << 20);
  for (ssize_t got = 0; (got = ::read(fd.get(), buffer.data(), buffer.size())) > 0;)
    out += static_cast<size_t>(got);
  return out;
}

// Of all threads, for each scrape but the first, which finds out what there is.
Scrapes measure_scrapes(const BenchNode& node, pid_t pid) {
  scrape(node.metrics());
  const double before = cpu_ms(pid);
  size_t bytes = 0;
  for (int i = 0; i < kScrapes; ++i) bytes = scrape(node.metrics());
  return {(cpu_ms(pid) - before) / kScrapes, static_cast<double>(bytes) / 1024};
}

void measure(const std::string& program, size_t vfs, seconds idle) {
  const BenchNode node(program, vfs);
  const auto scans = time_scans(node);
  TestKubelet kubelet(node.kubelet());
  const auto begin = Clock::now();
  const Program serve(node.command());
  wait_for(kubelet, vfs);
  const double registered = ms_since(begin);
  const auto allocations = time_allocations(node);
  const Scrapes scrapes = measure_scrapes(node, serve.pid());
  const double change = time_change(node, kubelet, serve.pid());
  const double reload = time_reload(node, kubelet);
  const double before = cpu_ms(serve.pid());
  std::this_thread::sleep_for(idle);
  std::printf("| %zu | %.1f | %.0f | %.2f, %.2f | %.1f, %.0f | %.0f | %.0f | %.1f | %.1f |\n", vfs,
              percentile(scans, 0.5), registered, percentile(allocations, 0.5), percentile(allocations, 0.99),
              scrapes.cpu_ms, scrapes.kilobytes, change, reload, resident_mb(serve.pid()),
              cpu_ms(serve.pid()) - before);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench-plugin VFRAIL IDLE_SECONDS VFS...\n");
    return 2;
  }
  try {
    std::printf(
        "| VFs | scan ms | start to list ms | Allocate ms p50, p99 | scrape CPU ms, kB | change to list ms | "
        "reload ms | resident MB "
        "| CPU ms in %s s |\n|---|---|---|---|---|---|---|---|---|\n",
        argv[2]);
    for (int i = 3; i < argc; ++i)
      measure(argv[1], std::strtoul(argv[i], nullptr, 10), seconds{std::strtol(argv[2], nullptr, 10)});
    for (int i = 3; i < argc; ++i) measure_in_use(argv[1], std::strtoul(argv[i], nullptr, 10));
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bench-plugin: %s\n", failure.what());
    return 1;
  }
}
