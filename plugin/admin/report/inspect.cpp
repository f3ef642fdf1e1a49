#include "plugin/admin/report/inspect.h"

#include "common/container/allocated_nodes.h"
#include "common/errors/error_id.h"
#include "common/escape.h"
#include "common/text.h"
#include "plugin/admin/capture/capture.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/report/report.h"
#include "plugin/admin/report/report_distance.h"
#include "plugin/admin/report/report_trace.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/device/config/devlink_reach.h"
#include "plugin/device/config/formats/file.h"
#include "plugin/device/inventory/host_kernel.h"
#include "plugin/device/match/shared_links.h"
#include "plugin/device/match/units.h"
#include "plugin/documents/yaml_text.h"
#include "plugin/dra/shared_switch.h"

#include <filesystem>
#include <iostream>
#include <optional>

namespace vfrail::plugin {

namespace {

void append(std::vector<Warning>& to, const std::vector<Warning>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool is_json(InspectOptions::Output output) {
  return output == InspectOptions::Output::json || output == InspectOptions::Output::yaml;
}

// In the plugin's container, as `serve` there. On the node itself that `serve` is not known.
Reach reach_of_serve(const std::string& root) {
  if (!is_live(root) || root == "/") return Reach::host;
  return is_host_netns(SysRoot(root)).value_or(false) ? Reach::host : Reach::elsewhere;
}

void find_warnings(const std::string& root, InspectFacts& facts) {
  const SysRoot sys(root);
  if (facts.config) {
    append(facts.warnings, facts.config->warnings);
    for (const SkippedEntry& entry : facts.config->skipped)
      facts.warnings.push_back({"not served: " + entry.reason, entry.id, entry.resource});
  }
  append(facts.warnings, facts.inventory.warnings);
  append(facts.warnings, facts.pools.warnings);
  for (const Pool& pool : facts.pools.pools) append(facts.warnings, find_incomplete(pool, make_units(pool)));
  append(facts.warnings, find_links_down(facts.pools, reach_of_serve(root)));
  if (facts.config) append(facts.warnings, find_devlink_gaps(sys, *facts.config));
  if (facts.config) append(facts.warnings, find_ddp_gaps(*facts.config, facts.inventory));
}

// The ids, a line each.
std::string names(const NodeReport& report) {
  std::string out;
  for (const DeviceReport& device : report.devices) {
    if (device.shown) out += escaped(device.id()) + "\n";
  }
  return out;
}

std::string selection_traces(const NodeReport& report) {
  std::vector<FunctionTrace> traces;
  for (const DeviceReport& device : report.devices) {
    if (device.shown && device.trace != nullptr) traces.push_back(*device.trace);
  }
  return render_traces(traces, report.facts.inventory);
}

std::string rendered(const InspectOptions& options, const NodeReport& report) {
  using Output = InspectOptions::Output;
  if (options.output == Output::name) return names(report);
  if (is_json(options.output)) {
    const Json json = render_json(report, {.explanations = options.explain, .distances = options.distances});
    return options.output == Output::yaml
               ? to_yaml(json)
               // The kernel takes nearly every byte in a name, and JSON only UTF-8.
               : well_formed(json.pretty()) + "\n";
  }
  if (options.explain) return selection_traces(report);
  if (options.distances) return render_distances(report.facts.inventory, report.facts.pools);
  Terminal terminal = find_terminal();
  if (options.output == Output::wide) terminal.width = 0;
  return render_table(
      report, {.terminal = terminal, .headers = !options.no_headers, .filtered = !options.filter.empty()});
}

// How pods get the device, and by which claim one has it.
std::vector<std::string> claim_remarks(const FunctionTrace& traced, const InspectFacts& facts) {
  std::vector<std::string> out;
  for (const std::string& resource : traced.pools) {
    const std::string way = facts.claims.way_of(resource);
    if (!way.empty()) out.push_back(resource + " goes to pods " + way);
  }
  const auto uses = facts.pods.find(traced.function->id.text());
  if (uses == facts.pods.end()) return out;
  for (const PodUse& use : uses->second) {
    if (!use.claim.empty())
      out.push_back("allocated to pod " + use.text() + " by request " + use.request + " of claim " +
                    use.claim);
  }
  return out;
}

Result<> read_config(const InspectOptions& options, InspectFacts& facts) {
  if (options.config_file.empty()) return {};
  facts.config = TRY(load_config({options.config_file, options.resource_prefix, options.strict}));
  facts.config_file = options.config_file;
  return {};
}

Result<> read_facts(const InspectOptions& options, const AskKubelet& ask_kubelet, InspectFacts& facts) {
  facts.inventory = TRY(scan_root(options.root));
  if (facts.config) facts.pools = match(*facts.config, facts.inventory);
  facts.hardware = read_hardware(SysRoot(options.root), pci_ids_files(options.root), facts.inventory);
  facts.pods = find_pods({options.root, options.kubelet_root, ask_kubelet}, facts.pools, facts.inventory,
                         facts.warnings);
  facts.claims = read_claim_facts(run_dir(options.root), facts.warnings);
  add_claims(facts.claims.records, facts.pools, facts.pods);
  find_warnings(options.root, facts);
  if (!facts.pools.pools.empty()) {
    for (Warning& note : shared_pool_notes(run_dir(options.root))) facts.warnings.push_back(std::move(note));
  }
  if (!options.explain) return {};
  facts.traces = trace_selection(facts.config.value_or(Config()), facts.inventory, facts.pools);
  for (FunctionTrace& traced : facts.traces) {
    for (std::string& remark : claim_remarks(traced, facts)) traced.remarks.push_back(std::move(remark));
  }
  return {};
}

}  // namespace

int inspect(const InspectOptions& options, const AskKubelet& ask_kubelet) {
  InspectFacts facts;
  if (const auto read = read_config(options, facts); !read) return fail(kWrongConfig, read.error());
  if (const auto read = read_facts(options, ask_kubelet, facts); !read) return fail(kFailed, read.error());
  NodeReport report = make_report(facts);
  if (const auto found = apply(options.filter, report); !found) return fail(kFailed, found.error());
  const int answered = answer(rendered(options, report));
  for (const UnreadDevice& device : facts.inventory.unread)
    std::cerr << "error: " << escaped(device.id + " cannot be read: " + device.reason) << " ["
              << id_text(ErrorId::device_not_read) << "]\n";
  return facts.inventory.unread.empty() ? answered : kFailed;
}

Result<std::string> inspect_page(const InspectOptions& options, const AskKubelet& ask_kubelet) {
  InspectFacts facts;
  TRY(read_config(options, facts));
  TRY(read_facts(options, ask_kubelet, facts));
  InspectOptions as_json = options;
  as_json.output = InspectOptions::Output::json;
  return rendered(as_json, make_report(facts));
}

int capture(const CaptureOptions& options) {
  const auto captured = capture(SysRoot(options.root), options.folder);
  if (!captured) return fail(kFailed, Error(captured.error()).in("capture this node"));
  std::cout << "captured in " << options.folder
            << ", without MAC addresses, GUIDs and IP addresses. Read it with "
            << "vfrail inspect --root " << options.folder << "\n";
  return kDone;
}

}  // namespace vfrail::plugin
