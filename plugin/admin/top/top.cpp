#include "plugin/admin/top/top.h"

#include "common/escape.h"
#include "common/netlink/netlink_kernel.h"
#include "common/node/attachments.h"
#include "common/text.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/report/claim_facts.h"
#include "plugin/admin/report/filter.h"
#include "plugin/admin/report/hardware.h"
#include "plugin/admin/report/pods.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/device/config/formats/file.h"
#include "plugin/device/match/pools.h"
#include "plugin/observe/metrics/pod_namespaces.h"

#include <algorithm>
#include <iostream>
#include <set>
#include <unistd.h>

namespace vfrail::plugin {

namespace {

// Cursor to the first line, and all below it erased (ECMA-48).
constexpr const char* kClear = "\x1b[H\x1b[J";

std::string names_of(const DeviceFacts& function, const DeviceCounters& counters) {
  std::vector<std::string> names = function.netdev_names();
  for (const RdmaPortCounters& port : counters.rdma) {
    if (std::find(names.begin(), names.end(), port.device) == names.end()) names.push_back(port.device);
  }
  return joined(names);
}

std::vector<PodUse> uses_of(const PodsById& pods, const std::string& id) {
  const auto found = pods.find(id);
  return found == pods.end() ? std::vector<PodUse>() : found->second;
}

std::vector<std::string> pods_of(const std::vector<PodUse>& uses) {
  std::vector<std::string> out;
  for (const PodUse& use : uses) out.push_back(use.text());
  return out;
}

std::vector<std::string> claims_of(const std::vector<PodUse>& uses) {
  std::vector<std::string> out;
  for (const PodUse& use : uses) {
    if (!use.claim.empty()) out.push_back(use.claim + "/" + use.request);
  }
  return out;
}

// Reads the node again each time: devices move between pods and the host while they are watched.
class NodeReader {
 public:
  NodeReader(const TopOptions& options, std::optional<Config> config, const AskKubelet& ask_kubelet)
      : options_(options), config_(std::move(config)), ask_kubelet_(ask_kubelet), sys_(options.root) {}

  Result<Reading> read() {
    const Inventory inventory = TRY(scan_root(options_.root));
    if (!ids_) ids_ = TRY(find_ids(inventory));
    std::vector<DeviceFacts> functions;
    for (const DeviceFacts& function : inventory.functions) {
      const bool all = options_.devices.empty() && (function.rdma_capable || function.is_vf());
      if (all || ids_->contains(function.id.text())) functions.push_back(function);
    }
    Reading out = read_functions(inventory, functions);
    if (out.devices.empty() && !options_.pod.empty() && is_first_)
      return Error{Errc::not_found, 0,
                   "no device here is allocated to a pod \"" + options_.pod +
                       "\": use NAMESPACE/NAME; vfrail inspect lists the pods"};
    is_first_ = false;
    return out;
  }

 private:
  // By the names of now: an interface and an RDMA device have others in a pod.
  Result<std::set<std::string>> find_ids(const Inventory& inventory) const {
    std::set<std::string> out;
    for (const std::string& name : options_.devices) {
      const size_t before = out.size();
      for (const DeviceFacts& function : inventory.functions) {
        if (is_called(function, name, inventory)) out.insert(function.id.text());
      }
      if (out.size() == before) return unknown_device(name);
    }
    return out;
  }

  Reading read_functions(const Inventory& inventory, const std::vector<DeviceFacts>& functions) {
    std::vector<Warning> warnings;
    const Pools pools = config_ ? match(*config_, inventory) : Pools();
    PodsById pods =
        find_pods({options_.root, options_.kubelet_root, ask_kubelet_}, pools, inventory, warnings);
    add_claims(read_claim_facts(run_dir(options_.root), warnings).records, pools, pods);
    warn(warnings);
    const HardwareById hardware = read_hardware(sys_, {}, inventory);
    const bool live = is_live(options_.root);
    const auto kernel = live ? NetlinkKernel::open_current() : Result<std::unique_ptr<Kernel>>(nullptr);
    Reading out{.time = std::chrono::steady_clock::now(), .devices = {}};
    const CountersOfDevices counters = read_device_counters(
        {.sys = sys_,
         .kernel = kernel ? kernel->get() : nullptr,
         .pods = [&] { return live ? read_pod_namespaces(options_.root) : PodNamespaces(); }},
        functions);
    for (const DeviceFacts& function : functions) {
      const std::string id = function.id.text();
      const auto uses = uses_of(pods, id);
      const auto users = pods_of(uses);
      if (!options_.pod.empty() && std::find(users.begin(), users.end(), options_.pod) == users.end())
        continue;
      DeviceReading& one = out.devices.emplace_back();
      one.id = id;
      one.names = names_of(function, counters.at(id));
      one.pod = joined(users);
      one.claim = joined(claims_of(uses));
      if (const auto known = hardware.find(id); known != hardware.end())
        one.speed_mbps = known->second.speed_mbps;
      one.counts = counts_of(counters.at(id).traffic, counters.at(id).rdma);
    }
    return out;
  }

  // Once for as long as they stay the same.
  void warn(const std::vector<Warning>& warnings) {
    if (warnings == warned_) return;
    for (const Warning& warning : warnings) std::cerr << "warning: " << escaped(warning.line()) << "\n";
    warned_ = warnings;
  }

  const TopOptions& options_;
  const std::optional<Config> config_;
  const AskKubelet& ask_kubelet_;
  const SysRoot sys_;
  std::optional<std::set<std::string>> ids_;
  std::vector<Warning> warned_;
  bool is_first_ = true;
};

}  // namespace

int top(const TopOptions& options, const AskKubelet& ask_kubelet) {
  std::optional<Config> config;
  if (!options.config_file.empty()) {
    auto loaded = load_config({options.config_file, options.resource_prefix, false});
    if (!loaded) return fail(kWrongConfig, loaded.error());
    config = *std::move(loaded);
  }
  NodeReader reader(options, std::move(config), ask_kubelet);
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  const auto draw = [clear = options.count != 1,
                     terminal = find_terminal()](const std::vector<DeviceRates>& rates) {
    return (clear ? kClear : "") + render_rates(rates, terminal);
  };
  const auto watched =
      watch_traffic(options, {.read = [&] { return reader.read(); },
                              .wait = wait_until_signal(),
                              .print = [](const std::string& text) { std::cout << text << std::flush; },
                              .draw = is_terminal ? draw : DrawRates(),
                              .summarise = render_summary});
  if (!watched) return fail(kFailed, watched.error());
  return std::cout ? kDone : kFailed;
}

}  // namespace vfrail::plugin
