#include "plugin/inspect.h"

#include "plugin/config_file.h"
#include "plugin/config_report.h"
#include "plugin/host_kernel.h"
#include "plugin/report.h"
#include "plugin/report_distance.h"

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
  const bool json = options.output == InspectOptions::Output::json;
  if (options.distances) {
    std::cout << (json ? distances_json(*inventory, pools).pretty() + "\n"
                       : render_distances(*inventory, pools));
  } else if (json) {
    std::cout << render_json(report).pretty() << "\n";
  } else {
    std::cout << render_table(report);
  }
  std::cout.flush();
  return std::cout ? kDone : fail(kFailed, Error{Errc::system, 0, "write to stdout: it is closed or full"});
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
