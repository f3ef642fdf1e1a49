#include "plugin/kube/view/view_json.h"

#include <cmath>
#include <utility>

namespace vfrail::kube {

namespace {

Json whole(const char* key, Json list, const std::vector<Gap>& gaps) {
  Json missing = Json::array();
  for (const Gap& gap : gaps) missing.push(Json::object().set("what", gap.what).set("why", gap.why));
  Json out = Json::object();
  out.set("schema_version", kViewSchemaVersion).set(key, std::move(list)).set("gaps", std::move(missing));
  return out;
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json number_or_null(const std::optional<uint64_t>& number) {
  return number ? Json(static_cast<int64_t>(*number)) : Json();
}

Json pod_name(const ObjectName& name) {
  return Json::object().set("namespace", name.name_space).set("name", name.name);
}

// Of each second, under the names of `vfrail top`; null: not known. A count that is not there is not counted.
Json traffic_json(const std::optional<Rates>& rates) {
  if (!rates) return {};
  Json out = Json::object();
  for (size_t i = 0; i < kCounts; ++i) {
    if (const auto& rate = (*rates)[i])
      out.set(name_of(static_cast<Count>(i)), static_cast<int64_t>(std::llround(*rate)));
  }
  return out;
}

Json resource_of_node(const NodeView& node, const NodeResource& resource) {
  Json unhealthy;  // null: not known
  if (node.answered) unhealthy = Json::array();
  for (const UnhealthyDevice& device : resource.unhealthy)
    unhealthy.push(Json::object().set("id", device.id).set("reason", device.reason));
  Json not_published;
  if (!resource.not_published.empty()) not_published = resource.not_published;
  return Json::object()
      .set("name", resource.name)
      .set("by_claims", resource.by_claims)
      .set("not_published_reason", std::move(not_published))
      .set("capacity", resource.capacity)
      .set("allocatable", resource.allocatable)
      .set("in_use", resource.in_use)
      .set("free", resource.free())
      .set("unhealthy", std::move(unhealthy));
}

}  // namespace

Json nodes_json(const ClusterView& view) {
  Json out = Json::array();
  for (const NodeView& node : view.nodes) {
    Json resources = Json::array();
    for (const NodeResource& resource : node.resources) resources.push(resource_of_node(node, resource));
    out.push(Json::object()
                 .set("name", node.name)
                 .set("ready", node.ready)
                 .set("cordoned", node.cordoned)
                 .set("answered", node.answered)
                 .set("resources", std::move(resources)));
  }
  return whole("nodes", std::move(out), view.gaps);
}

Json devices_json(const ClusterView& view) {
  Json out = Json::array();
  for (const DeviceView& device : view.devices) {
    Json pods = Json::array();
    for (const DeviceHolder& holder : device.holders) {
      Json pod = pod_name(holder.pod);
      pod.set("address", or_null(holder.address));
      pods.push(std::move(pod));
    }
    out.push(Json::object()
                 .set("node", device.node)
                 .set("id", device.id)
                 .set("resource", device.resource)
                 .set("state", device.state)
                 .set("fault", or_null(device.fault))
                 .set("port", or_null(device.port))
                 .set("per_second", traffic_json(device.traffic))
                 .set("pods", std::move(pods)));
  }
  return whole("devices", std::move(out), view.gaps);
}

Json pods_json(const ClusterView& view) {
  Json out = Json::array();
  for (const PodView& pod : view.pods) {
    Json requests = Json::object();
    for (const auto& [resource, count] : pod.requests) requests.set(resource, count);
    Json entry = pod_name(pod.name);
    entry.set("node", or_null(pod.node)).set("phase", pod.phase).set("requests", std::move(requests));
    entry.set("devices", Json(pod.devices)).set("addresses", Json(pod.addresses));
    entry.set("waits_for", or_null(pod.reason)).set("explanation", Json(pod.explanation));
    out.push(std::move(entry));
  }
  return whole("pods", std::move(out), view.gaps);
}

Json networks_json(const ClusterView& view) {
  Json out = Json::array();
  for (const NetworkView& network : view.networks) {
    Json entry = pod_name(network.name);
    entry.set("resource", or_null(network.resource)).set("type", or_null(network.type));
    entry.set("attachments", static_cast<int64_t>(network.attachments)).set("ipam", or_null(network.ipam));
    entry.set("addresses", number_or_null(network.addresses));
    entry.set("addresses_left", number_or_null(network.addresses_left));
    entry.set("remark", or_null(network.remark));
    out.push(std::move(entry));
  }
  return whole("networks", std::move(out), view.gaps);
}

Json findings_json(const ClusterFindings& findings) {
  const std::string members = std::string(findings.member) + "s";
  Json out = Json::array();
  for (const FindingGroup& group : findings.groups) {
    Json texts = Json::array();
    for (const SameFinding& one : group.findings) {
      texts.push(Json::object()
                     .set("text", one.text)
                     .set("remedy", or_null(one.remedy))
                     .set(members, Json(one.nodes)));
    }
    out.push(Json::object()
                 .set("id", group.id)
                 .set("name", group.name)
                 .set("finding", word_of(group.finding))
                 .set(members, static_cast<int64_t>(group.count_nodes()))
                 .set("findings", std::move(texts)));
  }
  Json whole_answer = whole("checks", std::move(out), findings.gaps);
  whole_answer.set(members + "_checked", static_cast<int64_t>(findings.nodes));
  return whole_answer;
}

}  // namespace vfrail::kube
