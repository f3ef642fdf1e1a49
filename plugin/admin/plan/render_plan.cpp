#include "plugin/admin/plan/render_plan.h"

#include "common/escape.h"
#include "common/terminal.h"
#include "common/text.h"
#include "plugin/admin/console/table.h"
#include "plugin/admin/plan/dra_advice.h"
#include "plugin/admin/plan/next_steps.h"
#include "plugin/admin/plan/steps.h"
#include "plugin/admin/plan/ways.h"
#include "plugin/admin/report/node_report.h"
#include "plugin/device/match/selection_trace.h"
#include "plugin/device/prefer/distance.h"

#include <algorithm>
#include <map>

namespace vfrail::plugin {

namespace {

// Lines of a text, escaped and no wider than the terminal; what continues a line is indented by `indent`.
class PlanText {
 public:
  explicit PlanText(size_t width) : width_(width) {}

  void title(const std::string& text) { out_ += (out_.empty() ? "" : "\n") + text + "\n"; }
  void line(const std::string& text, size_t indent = 2) {
    out_ += std::string(indent, ' ') +
            wrapped(escaped(text), width_ > indent + 2 ? width_ - indent : 0, indent + 2) + "\n";
  }
  void verbatim(const std::string& text) { out_ += text; }
  std::string text() const { return out_; }

 private:
  size_t width_;
  std::string out_;
};

std::string plan_state_of(const DeviceFacts& function) {
  std::vector<std::string> states;
  for (const RdmaFacts& rdma : function.rdma) {
    for (const RdmaPort& port : rdma.ports)
      states.push_back(port.state +
                       (port.state == "ACTIVE" || port.physical.empty() ? "" : " " + port.physical));
  }
  if (!states.empty()) return joined(states, ", ");
  if (function.netdevs.empty()) return "no interface here";
  // Read while the interface is up alone.
  if (!function.netdevs[0].up) return "link not known";
  return function.netdevs[0].carrier ? "carrier" : "no carrier";
}

std::string vfs_of(const DeviceFacts& function) {
  if (function.passed_through) return "passed through";
  if (function.total_vfs == 0) return "no SR-IOV";
  return std::to_string(function.num_vfs) + " of " + std::to_string(function.total_vfs) + " VFs";
}

std::string model_of(const PlanFacts& facts, const DeviceFacts& function) {
  const auto at = facts.hardware.find(function.id.text());
  const std::string name = at == facts.hardware.end() ? "" : at->second.device_name;
  return function.vendor + ":" + function.device + (name.empty() ? "" : " " + name);
}

// "0000:18:00.0 (eno1): the host's: bond0, ..." for the Ethernet that carries the node.
std::string role_of(const DeviceFacts& function) {
  for (const HostUseFact& fact : function.host_use) {
    if (fact.kind == HostUseFact::Kind::default_route) return "carries the node";
  }
  return function.host_use.empty() ? "" : "used by the host";
}

void render_node(const Plan& plan, PlanText& out) {
  const Inventory& inventory = plan.facts.inventory;
  std::map<std::string, std::vector<Row>> models;
  for (const DeviceFacts& function : inventory.functions) {
    if (!function.is_pf()) continue;
    const std::string speed = speed_text(speed_of(plan.facts.hardware, function));
    const auto near = nearest_gpu(function, inventory.gpus);
    models[model_of(plan.facts, function)].push_back(
        {"    " + escaped(shown_device(function)), escaped(plan_state_of(function)),
         speed.empty() ? "speed not known" : speed, vfs_of(function),
         near ? "GPU " + std::string(word(*near)) : "-", role_of(function)});
  }
  out.title("This node");
  for (const auto& [model, rows] : models) {
    out.line(model);
    out.verbatim(align(rows));
  }
  const char* mode = "not known: needs RDMA to be loaded";
  if (inventory.rdma_netns_mode)
    mode = *inventory.rdma_netns_mode == RdmaNetnsMode::exclusive ? "exclusive" : "shared";
  out.line(std::string("RDMA namespace mode: ") + mode + "; " + counted(inventory.gpus.size(), "GPU"));
}

// What several ways take is said once.
void render_steps(const FabricPlan& fabric, PlanText& out) {
  std::vector<const Step*> steps;
  std::map<std::string, std::vector<std::string>> ways_of;
  for (const Way& way : fabric.ways) {
    for (const Step& step : way.takes) {
      auto& ways = ways_of[step.text];
      if (ways.empty()) steps.push_back(&step);
      ways.emplace_back(fabric.title(way.kind));
    }
  }
  for (const Step* step : steps) {
    const auto& ways = ways_of[step->text];
    out.line(joined(ways, ", ") + (step->optional ? " (optional): " : ": ") + step->text);
    if (!step->command.empty()) out.line("  " + step->command, 4);
  }
}

std::string title_of(const FabricPlan& fabric) {
  std::string out = std::string("Ways for ") + name_of(fabric.fabric);
  if (!fabric.speed().empty()) out += ", " + fabric.speed();
  out += ": " + counted(fabric.group.rails.size(), "rail");
  if (fabric.group.gpu) out += ", " + std::string(word(*fabric.group.gpu)) + " to the nearest GPU";
  return out;
}

std::string cell_of(const Way& way, const GpuShare& share) {
  if (way.kind == WayKind::tcp) return "TCP's speed";
  if (share.cards == 0) return "none now";
  if (share.pods == 0) return "too few cards";
  return counted(share.cards, "card") + (share.shared && share.pods > 1 ? ", shared by " : ", ") +
         counted(share.pods, "pod");
}

// What counts is a job: the cards of a pod with its GPUs, and how many such pods the node has at once.
void render_shares(const FabricPlan& fabric, size_t gpus, PlanText& out) {
  if (gpus == 0) return;
  std::vector<Row> rows;
  for (const Way& way : fabric.ways) {
    const auto shares = shares_of(fabric, way, gpus);
    if (rows.empty()) {
      rows.push_back({"  A POD WITH"});
      for (const GpuShare& share : shares) rows.front().push_back(counted(share.gpus, "GPU"));
    }
    rows.push_back({std::string(way.kind == fabric.recommended ? "* " : "  ") + fabric.title(way.kind)});
    for (const GpuShare& share : shares) rows.back().push_back(cell_of(way, share));
  }
  out.line("Cards of a pod, and how many such pods at once" +
           (fabric.speed().empty() ? std::string(":") : " (a card has " + fabric.speed() + "):"));
  out.verbatim(align(rows));
}

void render_addresses(const FabricPlan& fabric, PlanText& out) {
  if (fabric.recommended == WayKind::per_rail || fabric.recommended == WayKind::bundle)
    out.line(
        "Addresses: a range for each rail (rails.ipam of the network, as vfrail example prints it), so that "
        "a "
        "connection leaves by the rail that it is meant for. Where each rail has a switch of its own and a "
        "router "
        "between them: gateway and routes in each of these ranges, and sourceRouting.");
  else if (takes_hosts_address(fabric.fabric) && fabric.recommended != WayKind::shared)
    out.line("Addresses: of the network's IPAM; cards of different subnets need a network for each.");
}

std::string needed_of(const Way& way) {
  std::vector<std::string> names;
  for (const Step& step : way.takes) {
    if (!step.optional) names.push_back(step.name);
  }
  return names.empty() ? "nothing" : joined(names, ", ");
}

void render_fabric(const FabricPlan& fabric, size_t gpus, PlanText& out) {
  out.title(title_of(fabric));
  std::vector<Row> rows = {
      {"  WAY", "RESOURCE", "PODS AT ONCE", "ISOLATION", "OWN ADDRESS", "GPUDIRECT", "TAKES"}};
  for (const Way& way : fabric.ways) {
    rows.push_back({std::string(way.kind == fabric.recommended ? "* " : "  ") + fabric.title(way.kind),
                    way.resource.empty() ? "-" : way.resource, way.pods, way.isolation, way.address,
                    way.gpu_direct, needed_of(way)});
  }
  out.verbatim(align(rows));
  render_shares(fabric, gpus, out);
  render_steps(fabric, out);
  out.line(std::string("Recommended: ") + fabric.title(fabric.recommended) + ". Why: " + fabric.why + ".");
  if (fabric.recommended == WayKind::shared)
    out.line("rdmaHcaMax is how many pods may share; " + std::to_string(kPodsOfNode) +
             " is kubelet's default of pods on a node.");
  if (!fabric.later.empty()) out.line("Later: " + fabric.later + ".");
  render_addresses(fabric, out);
  out.line(
      "Speed: every way with RDMA uses the card's own path, so a pod that is alone is as fast in each. Pods "
      "that share a device or a port divide it: shared devices without any order, VFs by the card's "
      "scheduler. TCP goes through the kernel, over IPoIB or macvlan too: no RDMA, and the CPU copies every "
      "byte.");
}

void render_configured(const Plan& plan, PlanText& out) {
  if (!plan.facts.config) return;
  out.title("Your configuration (" + escaped(plan.facts.config_file) + ")");
  for (const ConfiguredResource& one : plan.configured) {
    out.line(one.resource + ": " + counted(one.devices.size(), "device") + ", " +
             std::to_string(one.healthy_units) + " of " + counted(one.units, "unit") + " healthy" +
             (one.devices.empty() ? "" : ": " + first_few(one.devices)));
    for (const std::string& difference : one.differences) out.line("compared: " + difference, 4);
    if (one.differences.empty()) out.line("as recommended", 4);
  }
}

void render_lists(const Plan& plan, PlanText& out) {
  if (!plan.others.empty()) out.title("Storage or other: not recommended for pods");
  for (const OtherCard& other : plan.others) out.line(other.device + ": " + other.why);
  if (!plan.not_offered.empty()) out.title("Not advertised, and why");
  for (const NotOffered& one : plan.not_offered)
    out.line(one.device + ": " + one.why + " [" + id_text(one.id) + "]");
  render_configured(plan, out);
  if (!plan.errors.empty()) out.title("Errors that pods on this node can meet");
  for (const ExpectedError& error : plan.errors) {
    out.line("\"" + error.message + "\"");
    out.line("cause: " + error.cause, 4);
    out.line("remedy: " + error.remedy, 4);
  }
}

std::vector<NextPod> pods_of(const Plan& plan) {
  std::vector<NextPod> out;
  for (const FabricPlan& fabric : plan.fabrics)
    out.push_back({fabric.way(fabric.recommended).resource,
                   plan.facts.roots.empty() ? "" : plan.facts.roots.front(),
                   plan.facts.inventory.gpus.size()});
  return out;
}

void render_no_way(const Inventory& inventory, PlanText& out) {
  const auto away = std::count_if(inventory.functions.begin(), inventory.functions.end(),
                                  [](const DeviceFacts& function) { return function.away(); });
  if (away == 0) {
    out.title("No way to give RDMA to pods");
    out.line("No function of this node has an RDMA device that is not the host's.");
    return;
  }
  out.title("Ways to give RDMA to pods: not known");
  out.line("No function here has an RDMA device that is not the host's, but " +
           counted(static_cast<size_t>(away), "function") + (away == 1 ? " is" : " are") +
           " in other network namespaces: pods have them, or this is not the host's namespace. What they can "
           "do is seen "
           "in the host's, when one is free.");
}

}  // namespace

std::string render_plan(const Plan& plan, size_t width) {
  PlanText out(width);
  render_node(plan, out);
  if (plan.fabrics.empty()) render_no_way(plan.facts.inventory, out);
  const size_t gpus = plan.facts.inventory.gpus.size();
  for (const FabricPlan& fabric : plan.fabrics) render_fabric(fabric, gpus, out);
  if (const std::string advice = advise_dra(plan); !advice.empty()) {
    out.title("Device plugin or Dynamic Resource Allocation (DRA)");
    out.line(advice);
  }
  render_lists(plan, out);
  if (!plan.config.is_null()) {
    out.title("Configuration of the recommended way");
    out.verbatim(well_formed(plan.config.pretty()) + "\n");
    out.title("Next");
    out.verbatim(next_steps(pods_of(plan), plan.facts.roots));
  }
  return out.text();
}

}  // namespace vfrail::plugin
