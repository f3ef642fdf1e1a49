#include "plugin/documents/pod_parts.h"

#include "common/text.h"

#include <utility>

namespace vfrail::plugin {

namespace {

Json counted_resources(const PodNeeds& needs) {
  Json out = Json::object();
  if (needs.gpus > 0) out.set("nvidia.com/gpu", needs.gpus);
  for (const std::string& resource : needs.resources) out.set(resource, needs.units);
  return out;
}

// Pinned memory is limited, often to 64 KiB. IPC_LOCK lifts that for root alone: Kubernetes gives a process
// of another user no effective capability.
Json security() {
  Json capabilities = Json::object();
  capabilities.set("add", Json(std::vector<std::string>{"IPC_LOCK"}));
  return Json::object().set("runAsUser", 0).set("capabilities", std::move(capabilities));
}

Json environment(const PodNeeds& needs) {
  Json out = Json::array();
  out.push(Json::object().set("name", "NCCL_DEBUG").set("value", "INFO"));
  // The ranks find each other over the cluster's network, whose interface is not called so in the host.
  if (!needs.host_network) out.push(Json::object().set("name", "NCCL_SOCKET_IFNAME").set("value", "eth0"));
  return out;
}

Json list_of(Json one) {
  Json out = Json::array();
  out.push(std::move(one));
  return out;
}

constexpr const char* kClaim = "devices";

Json resources_of(const PodNeeds& needs) {
  if (!needs.claim_template.empty())
    return Json::object().set("claims", list_of(Json::object().set("name", kClaim)));
  const Json amounts = counted_resources(needs);
  return Json::object().set("requests", amounts).set("limits", amounts);
}

Json base_container(const ContainerText& text) {
  Json out = Json::object();
  out.set("name", text.name).set("image", text.image);
  if (!text.command.empty()) out.set("command", Json(text.command));
  return out;
}

Json device_container(const PodNeeds& needs, const ContainerText& text) {
  Json out = base_container(text);
  if (needs.gpus > 0) out.set("env", environment(needs));
  if (!needs.limit_lifted) out.set("securityContext", security());
  out.set("resources", resources_of(needs));
  out.set("volumeMounts", list_of(Json::object().set("name", "shm").set("mountPath", "/dev/shm")));
  return out;
}

}  // namespace

Json pod_template(const PodNeeds& needs, const ContainerText& container) {
  Json out = Json::object();
  if (!needs.networks.empty()) {
    Json annotations = Json::object();
    annotations.set("k8s.v1.cni.cncf.io/networks", joined(needs.networks, ","));
    out.set("metadata", Json::object().set("annotations", std::move(annotations)));
  }
  Json spec = Json::object();
  if (needs.host_network) spec.set("hostNetwork", true).set("dnsPolicy", "ClusterFirstWithHostNet");
  if (!needs.claim_template.empty())
    spec.set(
        "resourceClaims",
        list_of(Json::object().set("name", kClaim).set("resourceClaimTemplateName", needs.claim_template)));
  spec.set("containers", list_of(device_container(needs, container)));
  // NCCL and data loaders; its content counts as memory of the pod.
  Json shm = Json::object();
  shm.set("name", "shm").set("emptyDir", Json::object().set("medium", "Memory"));
  spec.set("volumes", list_of(std::move(shm)));
  return out.set("spec", std::move(spec));
}

Json bare_template(const ContainerText& container, std::vector<std::string> args) {
  Json one = base_container(container);
  if (!args.empty()) one.set("args", Json(args));
  return Json::object().set("spec", Json::object().set("containers", list_of(std::move(one))));
}

Json& with_spec(Json& pod, std::string_view key, Json value) {
  Json spec = Json::object();
  spec.set(key, std::move(value));
  for (const auto& [name, old] : *pod.find("spec")->as_object()) spec.set(name, old);
  return pod.set("spec", std::move(spec));
}

}  // namespace vfrail::plugin
