#include "plugin/kube/fabric/test_pods.h"

#include "common/text.h"
#include "plugin/documents/pod_parts.h"
#include "plugin/kube/access/fields.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

constexpr int kLifeSeconds = 3600;
constexpr const char* kResourceAnnotation = "k8s.v1.cni.cncf.io/resourceName";

Json list_of(Json one) {
  Json out = Json::array();
  out.push(std::move(one));
  return out;
}

// By the field and not by the label kubernetes.io/hostname, which can be another name.
Json on_node(const std::string& node) {
  Json field = Json::object()
                   .set("key", "metadata.name")
                   .set("operator", "In")
                   .set("values", Json(std::vector<std::string>{node}));
  Json term = Json::object().set("matchFields", list_of(std::move(field)));
  Json required = Json::object().set("nodeSelectorTerms", list_of(std::move(term)));
  return Json::object().set(
      "nodeAffinity",
      Json::object().set("requiredDuringSchedulingIgnoredDuringExecution", std::move(required)));
}

// "reason: message" of a state that waits or has ended.
std::string reason_text(const Json& state) {
  const std::string reason = text_at(state, {"reason"});
  const std::string message = text_at(state, {"message"});
  return reason + (message.empty() ? "" : ": " + message);
}

// What kubelet repeats without success; a node that pulls an image or makes a sandbox waits as well.
bool is_hopeless(const std::string& reason) {
  return reason == "ImagePullBackOff" || reason == "ErrImagePull" || reason == "InvalidImageName" ||
         reason == "CreateContainerConfigError" || reason == "CrashLoopBackOff";
}

}  // namespace

Json test_pod(const TestPods& pods, const std::string& node, size_t index) {
  plugin::PodNeeds needs;
  needs.resources = {pods.resource};
  needs.units = pods.units;
  needs.networks = pods.networks;
  needs.host_network = pods.host_network;
  Json out = plugin::pod_template(needs, {.name = "test",
                                          .image = pods.image,
                                          .command = {kTestProgram, "--listen", "--keep", "--wait",
                                                      std::to_string(kLifeSeconds), "--test", pods.test}});
  plugin::with_spec(out, "affinity", on_node(node));
  // Also nodes that are kept for GPU jobs, and those that somebody wants to test because they are cordoned.
  plugin::with_spec(out, "tolerations", list_of(Json::object().set("operator", "Exists")));
  plugin::with_spec(out, "activeDeadlineSeconds", kLifeSeconds);
  plugin::with_spec(out, "terminationGracePeriodSeconds", 2);
  plugin::with_spec(out, "automountServiceAccountToken", false);
  plugin::with_spec(out, "restartPolicy", "Never");
  const Json* old = out.find("metadata");
  Json metadata = old == nullptr ? Json::object() : *old;
  metadata.set("name", "vfrail-test-" + pods.test + "-" + std::to_string(index));
  metadata.set("namespace", pods.name_space);
  metadata.set("labels", Json::object().set(kTestLabel, pods.test));
  out.set("metadata", std::move(metadata));
  out.set("apiVersion", "v1");
  out.set("kind", "Pod");
  return out;
}

PodState read_pod_state(const Json& pod) {
  PodState out;
  const std::string phase = text_at(pod, {"status", "phase"});
  out.address = text_at(pod, {"status", "podIP"});
  out.runs = phase == "Running" && !out.address.empty();
  if (phase == "Failed" || phase == "Succeeded") out.failed = phase + " " + reason_text(*pod.find("status"));
  for (const Json& container : list_at(pod, {"status", "containerStatuses"})) {
    const Json* waiting = value_at(container, {"state", "waiting"});
    const Json* ended = value_at(container, {"state", "terminated"});
    if (ended != nullptr) out.failed = "vfrail-check has ended: " + reason_text(*ended);
    if (waiting == nullptr) continue;
    out.waits = reason_text(*waiting);
    if (is_hopeless(text_at(*waiting, {"reason"}))) out.failed = out.waits;
    out.runs = false;
  }
  for (const Json& condition : list_at(pod, {"status", "conditions"})) {
    const bool waits =
        text_at(condition, {"type"}) == "PodScheduled" && text_at(condition, {"status"}) == "False";
    if (waits) out.waits = text_at(condition, {"message"});
  }
  return out;
}

bool offers(const Json& node, const std::string& resource, uint32_t units) {
  if (is_true_at(node, {"spec", "unschedulable"})) return false;
  const auto& conditions = list_at(node, {"status", "conditions"});
  const bool ready = std::any_of(conditions.begin(), conditions.end(), [](const Json& one) {
    return text_at(one, {"type"}) == "Ready" && text_at(one, {"status"}) == "True";
  });
  const auto count = parse_decimal(text_at(node, {"status", "allocatable", resource}));
  return ready && count && *count >= units;
}

std::string resource_of_network(const Json& network) {
  return text_at(network, {"metadata", "annotations", kResourceAnnotation});
}

Result<std::string> network_for(const std::vector<Json>& networks, const std::string& resource,
                                const std::string& name_space) {
  std::vector<std::string> own;
  std::vector<std::string> others;
  for (const Json& network : networks) {
    if (resource_of_network(network) != resource) continue;
    const ObjectName name = name_of(network);
    (name.name_space == name_space ? own : others).push_back(name.text());
  }
  const std::vector<std::string>& found = own.empty() ? others : own;
  if (found.size() == 1) return found.front();
  if (found.empty())
    return Error{Errc::not_found, 0,
                 "no NetworkAttachmentDefinition is annotated with " + resource +
                     "; name one by --network NAMESPACE/NAME, or --host-network for devices that pods share"};
  return Error{Errc::invalid, 0,
               "several networks are annotated with " + resource + " (" + first_few(found) +
                   "); choose one by --network"};
}

}  // namespace vfrail::kube
