#include "plugin/report/inspect.h"

#include "common/escape.h"
#include "common/text.h"
#include "plugin/config/devlink_reach.h"
#include "plugin/config/file.h"
#include "plugin/match/explain.h"
#include "plugin/report/capture.h"
#include "plugin/report/exit.h"
#include "plugin/report/report.h"
#include "plugin/report/report_distance.h"
#include "plugin/report/report_explain.h"
#include "plugin/report/scan_root.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>

namespace vfrail {

namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Without a configuration nothing is in a pool; what the host lives on is worth knowing all the same.
Pools explain_without_config(const Inventory& inventory) {
  Pools out;
  for (const PciFunction& function : inventory.functions) {
    LeftOut left{function.address.text(), {"no config given"}};
    for (const HostUseFact& fact : function.host_use)
      left.reasons.push_back("the host uses it: " + fact.what);
    if (!function.unclean.empty())
      left.reasons.push_back("it could not be restored after its last pod: " + function.unclean);
    out.left_out.push_back(std::move(left));
  }
  return out;
}

// By what an administrator has at hand: the id, without the PCI domain if that is 0, the name of its netdev
// or of a bond that has it, or of its RDMA device.
bool is_called(const PciFunction& function, const std::string& name, const Inventory& inventory) {
  const auto has_name = [&](const auto& one) { return one.name == name; };
  const auto in_lag = [&](const Lag& lag) {
    return lag.name == name &&
           std::any_of(function.netdevs.begin(), function.netdevs.end(), [&](const Netdev& netdev) {
             return std::find(lag.members.begin(), lag.members.end(), netdev.name) != lag.members.end();
           });
  };
  return function.id.text() == name || function.id.text() == "0000:" + name ||
         std::any_of(inventory.lags.begin(), inventory.lags.end(), in_lag) ||
         std::any_of(function.netdevs.begin(), function.netdevs.end(), has_name) ||
         std::any_of(function.rdma.begin(), function.rdma.end(), has_name);
}

// All, or those of that name; none is an error.
Result<std::vector<FunctionTrace>> explain_one(const std::string& name, const Config& config,
                                               const Inventory& inventory, const Pools& pools) {
  auto traces = explain(config, inventory, pools);
  if (name.empty()) return traces;
  std::erase_if(traces,
                [&](const FunctionTrace& traced) { return !is_called(*traced.function, name, inventory); });
  if (!traces.empty()) return traces;
  return Error{Errc::not_found, 0,
               "no function here is called \"" + name +
                   "\": use a PCI address like 0000:03:02.1 or 03:02.1, a sub-function, an "
                   "interface, a bond or an RDMA device of the host; vfrail inspect lists them"};
}

// The ids, a line each: of all, or of those that --explain names.
Result<std::string> names(const InspectOptions& options, const Config& config, const Inventory& inventory,
                          const Pools& pools) {
  std::string out;
  for (const FunctionTrace& traced :
       TRY(explain_one(options.explain.value_or(""), config, inventory, pools), ""))
    out += escaped(traced.function->id.text()) + "\n";
  return out;
}

// The kernel takes nearly every byte in a name, and JSON only UTF-8.
std::string printed(const Json& json) { return well_formed(json.pretty()) + "\n"; }

// Columns of the terminal that stdout is; 0 if it is none.
size_t terminal_width() {
  winsize size{};
  return ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Result<std::string> answer(const InspectOptions& options, const Config& config, const Inventory& inventory,
                           const Pools& pools, const Report& report) {
  const bool json = options.output == InspectOptions::Output::json;
  if (options.output == InspectOptions::Output::name) return names(options, config, inventory, pools);
  if (options.explain) {
    const auto traces = TRY(explain_one(*options.explain, config, inventory, pools), "");
    return json ? printed(explanations_json(traces, inventory)) : render_explanations(traces, inventory);
  }
  if (options.distances)
    return json ? printed(distances_json(inventory, pools)) : render_distances(inventory, pools);
  if (json) return printed(render_json(report));
  const size_t width = options.output == InspectOptions::Output::wide ? 0 : terminal_width();
  return render_table(report, {.all_reasons = width == 0, .width = width});
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
  for (const SkippedEntry& entry : config ? config->skipped : std::vector<SkippedEntry>())
    report.warnings.push_back("not served: " + entry.reason);
  append(report.warnings, inventory->warnings);
  append(report.warnings, pools.warnings);
  if (config) append(report.warnings, find_devlink_gaps(SysRoot(options.root), *config));
  const auto text = answer(options, config.value_or(Config()), *inventory, pools, report);
  if (!text) return fail(kFailed, text.error());
  std::cout << *text;
  std::cout.flush();
  for (const UnreadDevice& device : inventory->unread)
    std::cerr << "error: " << escaped(device.id + " cannot be read: " + device.reason) << "\n";
  if (std::cout && !inventory->unread.empty()) return kFailed;
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

}  // namespace vfrail
