#include "plugin/inspect.h"

#include "plugin/capture.h"
#include "plugin/config_file.h"
#include "plugin/config_report.h"
#include "plugin/explain.h"
#include "plugin/host_kernel.h"
#include "plugin/report.h"
#include "plugin/report_distance.h"
#include "plugin/report_explain.h"

#include <algorithm>
#include <iostream>
#include <optional>

namespace vfrail {

namespace {

enum Exit : int { kDone = 0, kFailed = 1, kWrongConfig = 2 };

// Where kubelet looks for plugins if it was not told otherwise; `serve` checks the folder it really uses.
constexpr const char* kPluginFolder = "/var/lib/kubelet/plugins_registry";

int fail(Exit code, const Error& error) {
  std::cerr << "vfrail: " << error.text << "\n";
  return code;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Without a configuration nothing is in a pool; what the host lives on is worth knowing all the same.
Pools explain_without_config(const Inventory& inventory) {
  Pools out;
  for (const Function& function : inventory.functions) {
    LeftOut left{function.address.text(), {"no config given"}};
    for (const HostUseFact& fact : function.host_use)
      left.reasons.push_back("the host uses it: " + fact.what);
    out.left_out.push_back(std::move(left));
  }
  return out;
}

Result<Inventory> scan_root(const std::string& root) {
  const auto host = TRY(host_kernel(root), "open netlink");
  return scan(SysRoot(root), host.get());
}

// By what an administrator has at hand: the id, the name of its netdev or of its RDMA device.
bool is_called(const Function& function, const std::string& name) {
  const auto has_name = [&](const auto& one) { return one.name == name; };
  return function.id().text() == name ||
         std::any_of(function.netdevs.begin(), function.netdevs.end(), has_name) ||
         std::any_of(function.rdma.begin(), function.rdma.end(), has_name);
}

// All, or those of that name; none is an error.
Result<std::vector<FunctionTrace>> explain_one(const std::string& name, const Config& config,
                                               const Inventory& inventory, const Pools& pools) {
  auto traces = explain(config, inventory, pools);
  if (name.empty()) return traces;
  std::erase_if(traces, [&](const FunctionTrace& traced) { return !is_called(*traced.function, name); });
  if (!traces.empty()) return traces;
  return Error{Errc::not_found, 0,
               "no function here is called \"" + name +
                   "\": a PCI address like 0000:03:02.1, a sub-function, an "
                   "interface or an RDMA device of the host is wanted; vfrail inspect lists them"};
}

Result<std::string> answer(const InspectOptions& options, const Config& config, const Inventory& inventory,
                           const Pools& pools, const Report& report) {
  const bool json = options.output == InspectOptions::Output::json;
  if (options.explain) {
    const auto traces = TRY(explain_one(*options.explain, config, inventory, pools), "");
    return json ? explanations_json(traces, inventory).pretty() + "\n"
                : render_explanations(traces, inventory);
  }
  if (options.distances)
    return json ? distances_json(inventory, pools).pretty() + "\n" : render_distances(inventory, pools);
  return json ? render_json(report).pretty() + "\n" : render_table(report);
}

}  // namespace

int inspect(const InspectOptions& options) {
  std::optional<Config> config;
  if (!options.config_file.empty()) {
    auto loaded = load_config({options.config_file, options.resource_prefix, options.strict});
    if (!loaded) return fail(kWrongConfig, loaded.error());
    config = *std::move(loaded);
  }
  const auto inventory = scan_root(options.root);
  if (!inventory) return fail(kFailed, inventory.error());
  const Pools pools = config ? match(*config, *inventory) : explain_without_config(*inventory);
  Report report{*inventory, pools, config ? config->warnings : std::vector<std::string>()};
  append(report.warnings, inventory->warnings);
  append(report.warnings, pools.warnings);
  const auto text = answer(options, config.value_or(Config()), *inventory, pools, report);
  if (!text) return fail(kFailed, text.error());
  std::cout << *text;
  std::cout.flush();
  return std::cout ? kDone : fail(kFailed, Error{Errc::system, 0, "write to stdout: it is closed or full"});
}

int capture(const CaptureOptions& options) {
  const auto captured = capture(SysRoot(options.root), options.folder);
  if (!captured) return fail(kFailed, Error(captured.error()).in("capture this node"));
  std::cout << "captured in " << options.folder
            << ", without MAC addresses, GUIDs and IP addresses. Look at it with "
            << "vfrail inspect --root " << options.folder << "\n";
  return kDone;
}

int check_config(const CheckConfigOptions& options) {
  const auto config = load_config({options.config_file, options.resource_prefix, options.strict});
  if (!config) return fail(kWrongConfig, config.error());
  for (const ResourceConfig& resource : config->resources) {
    const auto fits = check_socket_path(resource, kPluginFolder);
    if (!fits) return fail(kWrongConfig, Error(fits.error()).in(options.config_file));
  }
  for (const std::string& warning : config->warnings) std::cerr << "warning: " << warning << "\n";
  std::cout << describe(*config);
  std::cout.flush();
  return std::cout ? kDone : fail(kFailed, Error{Errc::system, 0, "write to stdout: it is closed or full"});
}

}  // namespace vfrail
