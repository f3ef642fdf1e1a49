#include "plugin/kube/view/cluster_facts.h"

#include "common/text.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

// Annotations are at most 256 KiB, all of an object together.
constexpr size_t kMaxAnnotationBytes = 256 << 10;
constexpr const char* kNetworks = "k8s.v1.cni.cncf.io/networks";
constexpr const char* kNetworkStatus = "k8s.v1.cni.cncf.io/network-status";
constexpr const char* kResourceName = "k8s.v1.cni.cncf.io/resourceName";

// The API server writes whole numbers, as text: "8", and those that an administrator has set as they are.
// "1k" is 1000 and no count of devices that anybody has, but allowed.
int64_t count_of(const Json& quantity) {
  if (const int64_t* number = quantity.as_int()) return *number;
  const std::string* text = quantity.as_text();
  if (text == nullptr || text->empty()) return 0;
  const bool thousands = text->back() == 'k';
  const auto number = parse_decimal(thousands ? text->substr(0, text->size() - 1) : *text);
  return int64_t{number.value_or(0)} * (thousands ? 1000 : 1);
}

// kubernetes.io is the domain of Kubernetes' own ones ("attachable-volumes-...", hugepages have no slash).
ResourceCounts counts_of(const Json* quantities) {
  ResourceCounts out;
  if (quantities == nullptr || quantities->as_object() == nullptr) return out;
  for (const auto& [name, quantity] : *quantities->as_object()) {
    if (name.find('/') != std::string::npos) out[name] = count_of(quantity);
  }
  return out;
}

void add(const ResourceCounts& from, ResourceCounts& to) {
  for (const auto& [name, count] : from) to[name] += count;
}

void raise(const ResourceCounts& from, ResourceCounts& to) {
  for (const auto& [name, count] : from) to[name] = std::max(to[name], count);
}

ResourceCounts requests_of_container(const Json& container) {
  // The API server copies limits of extended resources to the requests.
  return counts_of(value_at(container, {"resources", "requests"}));
}

// As the scheduler counts: init containers run one after the other and before the rest, but those that are
// restarted always (sidecars) stay.
ResourceCounts requests_of(const Json& pod) {
  ResourceCounts most;
  ResourceCounts staying;
  for (const Json& container : list_at(pod, {"spec", "initContainers"})) {
    ResourceCounts now = staying;
    add(requests_of_container(container), now);
    if (text_at(container, {"restartPolicy"}) == "Always") staying = now;
    raise(now, most);
  }
  for (const Json& container : list_at(pod, {"spec", "containers"}))
    add(requests_of_container(container), staying);
  raise(staying, most);
  std::erase_if(most, [](const auto& entry) { return entry.second <= 0; });
  return most;
}

const Json* condition_of(const Json& object, std::string_view type) {
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

bool is_true(const Json& object, std::string_view condition) {
  const Json* found = condition_of(object, condition);
  return found != nullptr && text_at(*found, {"status"}) == "True";
}

std::string with_message(const std::string& reason, const std::string& message) {
  return reason + (reason.empty() || message.empty() ? "" : ": ") + message;
}

std::string reason_of(const Json& pod) {
  if (value_at(pod, {"metadata", "deletionTimestamp"}) != nullptr) return "it is being deleted";
  if (const Json* scheduled = condition_of(pod, "PodScheduled");
      scheduled != nullptr && text_at(*scheduled, {"status"}) != "True")
    return with_message(text_at(*scheduled, {"reason"}), text_at(*scheduled, {"message"}));
  for (const char* kind : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& container : list_at(pod, {"status", kind})) {
      const std::string reason = text_at(container, {"state", "waiting", "reason"});
      if (reason.empty() || reason == "PodInitializing") continue;
      return with_message(reason, text_at(container, {"state", "waiting", "message"}));
    }
  }
  return with_message(text_at(pod, {"status", "reason"}), text_at(pod, {"status", "message"}));
}

std::vector<PodNetwork> networks_of(const Json& pod) {
  std::vector<PodNetwork> out;
  const std::string text = text_at(pod, {"metadata", "annotations", kNetworkStatus});
  if (text.empty()) return out;
  const auto parsed = Json::parse(text, kMaxAnnotationBytes);
  if (!parsed || parsed->as_array() == nullptr) return out;
  for (const Json& entry : *parsed->as_array()) {
    PodNetwork one{text_at(entry, {"name"}), text_at(entry, {"interface"}), {}, {}};
    for (const Json& address : list_at(entry, {"ips"})) {
      if (const std::string* value = address.as_text()) one.addresses.push_back(*value);
    }
    one.device = text_at(entry, {"device-info", "pci", "pci-address"});
    out.push_back(std::move(one));
  }
  return out;
}

// "hostdev, team/rail1@net2", or a list of objects.
std::vector<std::string> asked_networks_of(const Json& pod) {
  std::vector<std::string> out;
  const std::string text = text_at(pod, {"metadata", "annotations", kNetworks});
  const std::string own = name_of(pod).name_space;
  const auto parsed = Json::parse(text, kMaxAnnotationBytes);
  if (parsed && parsed->as_array() != nullptr) {
    for (const Json& entry : *parsed->as_array()) {
      const std::string name_space = text_at(entry, {"namespace"});
      out.push_back((name_space.empty() ? own : name_space) + "/" + text_at(entry, {"name"}));
    }
    return out;
  }
  for (const std::string& entry : split(text, ", ")) {
    const std::string name = entry.substr(0, entry.find('@'));
    if (!name.empty()) out.push_back(name.find('/') == std::string::npos ? own + "/" + name : name);
  }
  return out;
}

uint16_t metrics_port(const Json& pod) {
  for (const Json& container : list_at(pod, {"spec", "containers"})) {
    for (const Json& port : list_at(container, {"ports"})) {
      const Json* number = port.find("containerPort");
      const int64_t* value = number == nullptr ? nullptr : number->as_int();
      if (text_at(port, {"name"}) == "metrics" && value != nullptr && *value > 0 && *value <= 65535)
        return static_cast<uint16_t>(*value);
    }
  }
  return 0;
}

}  // namespace

ClusterNode read_cluster_node(const Json& node) {
  return {.name = name_of(node).name,
          .ready = is_true(node, "Ready"),
          .cordoned = is_true_at(node, {"spec", "unschedulable"}),
          .capacity = counts_of(value_at(node, {"status", "capacity"})),
          .allocatable = counts_of(value_at(node, {"status", "allocatable"}))};
}

std::optional<ClusterPod> read_cluster_pod(const Json& pod) {
  ClusterPod out;
  // The chart's labels.
  out.is_vfrail = text_at(pod, {"metadata", "labels", "app.kubernetes.io/name"}) == "vfrail" &&
                  text_at(pod, {"metadata", "labels", "app.kubernetes.io/component"}) == "device-plugin";
  out.requests = requests_of(pod);
  out.networks = networks_of(pod);
  const bool has_claims = !list_at(pod, {"spec", "resourceClaims"}).empty();
  if (!out.is_vfrail && out.requests.empty() && !has_claims && out.networks.empty()) return std::nullopt;
  if (has_claims) out.asked_networks = asked_networks_of(pod);
  out.name = name_of(pod);
  out.node = text_at(pod, {"spec", "nodeName"});
  out.phase = text_at(pod, {"status", "phase"});
  out.ready = is_true(pod, "Ready");
  if (out.phase == "Pending") out.reason = reason_of(pod);
  if (out.is_vfrail) out.port = metrics_port(pod);
  return out;
}

ClusterNetwork read_cluster_network(const Json& network) {
  ClusterNetwork out{.name = name_of(network),
                     .resource = text_at(network, {"metadata", "annotations", kResourceName}),
                     .type = {},
                     .ipam = {},
                     .problem = {}};
  const std::string text = text_at(network, {"spec", "config"});
  if (text.empty()) return out;
  const auto config = Json::parse_object(text);
  if (!config) {
    out.problem = "its configuration is not valid JSON: " + config.error().text;
    return out;
  }
  const Json::Array& plugins = list_at(*config, {"plugins"});
  const Json& first = plugins.empty() ? *config : plugins.front();
  out.type = text_at(first, {"type"});
  if (const Json* ipam = value_at(first, {"ipam"})) out.ipam = *ipam;
  return out;
}

AddressPool read_address_pool(const Json& pool) {
  const Json* allocations = value_at(pool, {"spec", "allocations"});
  const Json::Object* entries = allocations == nullptr ? nullptr : allocations->as_object();
  return {name_of(pool).text(), text_at(pool, {"spec", "range"}), entries == nullptr ? 0 : entries->size()};
}

}  // namespace vfrail::kube
