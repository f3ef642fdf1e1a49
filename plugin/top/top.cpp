#include "plugin/top/top.h"

#include "common/netlink/netlink_kernel.h"
#include "common/node/attachments.h"
#include "common/text.h"
#include "plugin/config/file.h"
#include "plugin/match/pools.h"
#include "plugin/metrics/pod_namespaces.h"
#include "plugin/report/exit.h"
#include "plugin/report/hardware.h"
#include "plugin/report/pods.h"
#include "plugin/report/scan_root.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>
#include <iostream>
#include <unistd.h>

namespace vfrail {

namespace {

// Cursor to the first line, and all below it erased (ECMA-48).
constexpr const char* kClear = "\x1b[H\x1b[J";

bool is_meant(const PciFunction& function, const std::vector<std::string>& names) {
  if (names.empty()) return function.rdma_capable || function.is_vf();
  const auto is_one_of = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto netdevs = function.netdev_names();
  const auto rdma = function.rdma_names();
  const auto id = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto parsed = DeviceId::parse(name);
    return parsed && *parsed == function.id;
  });
  return id || std::any_of(netdevs.begin(), netdevs.end(), is_one_of) ||
         std::any_of(rdma.begin(), rdma.end(), is_one_of);
}

std::string names_of(const PciFunction& function, const DeviceCounters& counters) {
  std::vector<std::string> names = function.netdev_names();
  for (const RdmaPortCounters& port : counters.rdma) {
    if (std::find(names.begin(), names.end(), port.device) == names.end()) names.push_back(port.device);
  }
  return joined(names);
}

std::string pods_of(const PodsById& pods, const std::string& id) {
  const auto found = pods.find(id);
  if (found == pods.end()) return "";
  std::vector<std::string> out;
  for (const PodUse& use : found->second) out.push_back(use.text());
  return joined(out);
}

// Reads the node anew each time: devices move between pods and the host while they are watched.
class NodeReader {
 public:
  NodeReader(const TopOptions& options, std::optional<Config> config, const AskKubelet& ask_kubelet)
      : options_(options), config_(std::move(config)), ask_kubelet_(ask_kubelet), sys_(options.root) {}

  Result<Reading> read() {
    const Inventory inventory = TRY(scan_root(options_.root), "");
    std::vector<PciFunction> functions;
    for (const PciFunction& function : inventory.functions) {
      if (is_meant(function, options_.devices)) functions.push_back(function);
    }
    const PodsById pods = find_pods(inventory);
    const HardwareById hardware = read_hardware(sys_, {}, inventory);
    const auto kernel =
        is_live(options_.root) ? NetlinkKernel::open_current() : Result<std::unique_ptr<Kernel>>(nullptr);
    Reading out{.time = std::chrono::steady_clock::now(), .devices = {}};
    const CountersOfDevices counters = read_device_counters(
        {.sys = sys_,
         .kernel = kernel ? kernel->get() : nullptr,
         .pods =
             [&] {
               return is_live(options_.root) ? read_pod_namespaces(kNamespaceFolder) : PodNamespaces();
             }},
        functions);
    for (const PciFunction& function : functions) {
      const std::string id = function.id.text();
      DeviceReading one{.id = id, .names = names_of(function, counters.at(id)), .pod = pods_of(pods, id)};
      if (!options_.pod.empty() && one.pod != options_.pod) continue;
      if (const auto known = hardware.find(id); known != hardware.end())
        one.speed_mbps = known->second.speed_mbps;
      one.counts = counts_of(counters.at(id));
      out.devices.push_back(std::move(one));
    }
    if (out.devices.empty() && !options_.devices.empty())
      return Error{Errc::not_found, 0, "no device of this node is " + joined(options_.devices)};
    return out;
  }

 private:
  PodsById find_pods(const Inventory& inventory) const {
    PodsById out;
    if (config_ && is_live(options_.root)) {
      // Without kubelet's answer the records still name most pods.
      const auto in_use = ask_kubelet_(options_.kubelet_root);
      if (in_use) add_allocated(match(*config_, inventory), *in_use, out);
    }
    add_attached(Attachments(cni_state_dir(options_.root)), inventory, out);
    return out;
  }

  const TopOptions& options_;
  const std::optional<Config> config_;
  const AskKubelet& ask_kubelet_;
  const SysRoot sys_;
};

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char out[16];
  std::strftime(out, sizeof out, "%H:%M:%S", &parts);
  return out;
}

// INT and TERM end the wait, and the loop; both are blocked, so that the summary is still printed.
bool wait_unless_signalled(const sigset_t& signals, double seconds) {
  const double whole = std::floor(seconds);
  const timespec wait{.tv_sec = static_cast<time_t>(whole),
                      .tv_nsec = static_cast<long>((seconds - whole) * 1e9)};
  return ::sigtimedwait(&signals, nullptr, &wait) < 0;
}

}  // namespace

Result<> watch_traffic(const TopOptions& options, const TopWorld& world) {
  Reading before = TRY(world.read(), "");
  Summary summary;
  for (unsigned done = 0; options.count == 0 || done < options.count; ++done) {
    if (!world.wait(options.interval)) break;
    Reading now = TRY(world.read(), "");
    const double seconds = std::chrono::duration<double>(now.time - before.time).count();
    const auto rates = rates_between(before, now);
    summary.add(rates, seconds);
    if (options.json)
      world.print(well_formed(rates_json(rates, seconds).text()) + "\n");
    else if (world.is_terminal)
      world.print(kClear + render_rates(rates, world.terminal));
    else
      world.print(rate_lines(rates, time_now()));
    before = std::move(now);
  }
  if (!options.json) world.print("\n" + render_summary(summary));
  return {};
}

int top(const TopOptions& options, const AskKubelet& ask_kubelet) {
  std::optional<Config> config;
  if (!options.config_file.empty()) {
    auto loaded = load_config({options.config_file, options.resource_prefix, false});
    if (!loaded) return fail(kWrongConfig, loaded.error());
    config = *std::move(loaded);
  }
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  NodeReader reader(options, std::move(config), ask_kubelet);
  const auto watched =
      watch_traffic(options, {.read = [&] { return reader.read(); },
                              .wait = [&](double seconds) { return wait_unless_signalled(signals, seconds); },
                              .print = [](const std::string& text) { std::cout << text << std::flush; },
                              .is_terminal = ::isatty(STDOUT_FILENO) == 1,
                              .terminal = find_terminal()});
  if (!watched) return fail(kFailed, watched.error());
  return std::cout ? kDone : kFailed;
}

}  // namespace vfrail
