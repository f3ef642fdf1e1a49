#include "plugin/kube/view/view_commands.h"

#include "common/text.h"
#include "plugin/documents/yaml_text.h"
#include "plugin/kube/view/findings.h"
#include "plugin/kube/view/view_json.h"
#include "plugin/kube/view/view_text.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

using Output = ViewOptions::Output;

bool is_for_programs(Output output) { return output == Output::json || output == Output::yaml; }

std::string program_text(const Json& json, Output output) {
  return output == Output::yaml ? plugin::to_yaml(json) : well_formed(json.pretty()) + "\n";
}

TextLayout layout_of(const ViewOptions& options) {
  return {.width = options.width, .wide = options.output == Output::wide, .headers = options.headers};
}

// Neither nodes nor pods: whoever asks has no rights here, or the API server does not answer.
int code_of(const ClusterFacts& facts) {
  const auto missing = [&](const ResourceType& type) {
    return std::any_of(facts.gaps.begin(), facts.gaps.end(),
                       [&](const Gap& gap) { return gap.what == type.plural; });
  };
  return missing(kNodes) && missing(kPods) ? 1 : 0;
}

// Long enough that a question by the API server's proxy, some hundredths of a second, blurs a rate by little.
constexpr std::chrono::milliseconds kTrafficInterval{2000};

ViewAnswer show(const OpenReader& open, const ViewOptions& options, const GatherPlan& plan,
                Json (*as_json)(const ClusterView&),
                std::string (*as_text)(const ClusterView&, const TextLayout&)) {
  const ClusterFacts facts = gather(open, plan);
  ClusterView view = make_cluster_view(facts, options.filter);
  view.has_traffic = plan.traffic.has_value();
  return {code_of(facts), is_for_programs(options.output) ? program_text(as_json(view), options.output)
                                                          : as_text(view, layout_of(options))};
}

}  // namespace

// The resources of vfrail are in the pages; of one node that is asked for alone its own are enough.
ViewAnswer show_nodes(const OpenReader& open, const ViewOptions& options) {
  return show(open, options, {.node = options.filter.node}, nodes_json, nodes_text);
}

ViewAnswer show_devices(const OpenReader& open, const ViewOptions& options) {
  GatherPlan plan{.node = options.filter.node};
  if (options.traffic || options.output == Output::wide) plan.traffic = kTrafficInterval;
  return show(open, options, plan, devices_json, devices_text);
}

ViewAnswer show_pods(const OpenReader& open, const ViewOptions& options) {
  // Why a pod waits is a matter of all nodes.
  return show(open, options, {}, pods_json, pods_text);
}

ViewAnswer show_networks(const OpenReader& open, const ViewOptions& options) {
  return show(open, options, {.page = GatherPlan::Page::none}, networks_json, networks_text);
}

ViewAnswer show_findings(const OpenReader& open, const ViewOptions& options) {
  const ClusterFacts facts =
      gather(open, {.page = GatherPlan::Page::doctor, .networks = false, .node = options.filter.node});
  const ClusterFindings findings = group_findings(facts, options.filter);
  ViewAnswer out = findings_answer(findings, options);
  out.code = std::max(code_of(facts), out.code);
  return out;
}

ViewAnswer findings_answer(const ClusterFindings& findings, const ViewOptions& options) {
  const bool fault = std::any_of(findings.groups.begin(), findings.groups.end(),
                                 [](const FindingGroup& group) { return group.finding == Finding::fault; });
  return {fault ? 1 : 0, is_for_programs(options.output)
                             ? program_text(findings_json(findings), options.output)
                             : findings_text(findings, layout_of(options))};
}

}  // namespace vfrail::kube
