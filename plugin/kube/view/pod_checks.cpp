#include "plugin/kube/view/pod_checks.h"

#include "common/programs.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/view/findings.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace vfrail::kube {

namespace {

// Labels by which controllers mark the pods of a job with its name.
constexpr const char* kJobLabels[] = {"batch.kubernetes.io/job-name",     "job-name",
                                      "training.kubeflow.org/job-name",   "jobset.sigs.k8s.io/jobset-name",
                                      "leaderworkerset.sigs.k8s.io/name", "ray.io/cluster"};
constexpr size_t kMostAtOnce = 16;

struct CheckedPod {
  ObjectName name;
  std::string container;
};

bool has_device(const Json& container) {
  const Json* requests = value_at(container, {"resources", "requests"});
  if (requests == nullptr || requests->as_object() == nullptr) return false;
  return std::any_of(requests->as_object()->begin(), requests->as_object()->end(),
                     [](const auto& one) { return one.first.find('/') != std::string::npos; });
}

// One that runs, and its first container with an extended resource.
void take_pod(const Json& pod, std::vector<CheckedPod>& out) {
  if (text_at(pod, {"status", "phase"}) != "Running") return;
  const Json::Array& containers = list_at(pod, {"spec", "containers"});
  const auto found = std::find_if(containers.begin(), containers.end(), has_device);
  if (found != containers.end()) out.push_back({name_of(pod), text_at(*found, {"name"})});
}

Result<std::vector<CheckedPod>> list_pods(const ClusterReader& reader, const PodSelection& selection,
                                          const std::string& labels) {
  std::vector<CheckedPod> out;
  const auto take = [&](Json&& pod) {
    if (name_of(pod).name_space == selection.name_space) take_pod(pod, out);
  };
  TRY(reader.list(kPods, {.labels = labels, .fields = "metadata.namespace=" + selection.name_space}, take,
                  [&] { out.clear(); }));
  return out;
}

Result<std::vector<CheckedPod>> select_pods(const ClusterReader& reader, const PodSelection& selection) {
  if (selection.job.empty()) return list_pods(reader, selection, selection.labels);
  for (const char* label : kJobLabels) {
    auto pods = TRY(list_pods(reader, selection, std::string(label) + "=" + selection.job));
    if (!pods.empty()) return pods;
  }
  return std::vector<CheckedPod>();
}

Result<Json> check_pod(const RunInPod& run, const CheckedPod& pod) {
  PodCommand command;
  command.pod = pod.name;
  command.container = pod.container;
  command.words = {kCheckMount, "--output", "json"};
  const PodOutput output = TRY(run(command));
  auto report = Json::parse_object(output.output, 4 << 20);
  if (report) return report;
  return Error{Errc::protocol, 0,
               output.errors.empty() ? "vfrail-check printed no report"
                                     : "vfrail-check: " + output.errors.substr(0, 300)};
}

ClusterFacts check_pods(const RunInPod& run, const std::vector<CheckedPod>& pods) {
  std::vector<std::optional<Result<Json>>> reports(pods.size());
  std::atomic<size_t> next{0};
  {
    std::vector<std::jthread> workers;
    for (size_t i = 0; i < std::min(kMostAtOnce, pods.size()); ++i)
      workers.emplace_back([&] {
        for (size_t at = next++; at < pods.size(); at = next++) reports[at] = check_pod(run, pods[at]);
      });
  }
  ClusterFacts out;
  for (size_t i = 0; i < pods.size(); ++i) {
    Result<Json>& report = *reports[i];
    if (report)
      out.pages.push_back({pods[i].name.name, *std::move(report)});
    else
      out.gaps.push_back({pods[i].name.name, report.error().text +
                                                 " (the resource's `mountCheck` gives containers " +
                                                 std::string(kCheckMount) + ")"});
  }
  return out;
}

std::string selection_text(const PodSelection& selection) {
  if (!selection.job.empty()) return " of job " + selection.job;
  return selection.labels.empty() ? "" : " with labels " + selection.labels;
}

}  // namespace

ViewAnswer show_pod_checks(const OpenReader& open, const RunInPod& run, const PodSelection& selection,
                           const ViewOptions& options) {
  const auto pods = select_pods(open(), selection);
  if (!pods) return {1, pods.error().text + "\n"};
  if (pods->empty())
    return {1, "no pod" + selection_text(selection) + " in namespace " + selection.name_space +
                   " runs and has a device\n"};
  const ClusterFacts facts = check_pods(run, *pods);
  ClusterFindings findings = group_findings(facts, {});
  findings.member = "pod";
  ViewAnswer out = findings_answer(findings, options);
  if (facts.pages.empty()) out.code = 1;
  return out;
}

}  // namespace vfrail::kube
