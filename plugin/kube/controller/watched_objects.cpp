#include "plugin/kube/controller/watched_objects.h"

#include "plugin/documents/documents.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/controller/network_definition.h"

#include <algorithm>
#include <functional>

namespace vfrail::kube {

namespace {

using plugin::find_below;

// Of metadata, what identifies an object and its version, and those of `more` that it has.
Json kept_metadata(const Json& object, std::initializer_list<std::string_view> more = {}) {
  Json out = Json::object();
  const Json* metadata = object.find("metadata");
  if (metadata == nullptr) return out;
  const auto copy = [&](std::string_view key) {
    if (const Json* value = metadata->find(key)) out.set(key, *value);
  };
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "deletionTimestamp"}) copy(key);
  for (const std::string_view key : more) copy(key);
  return out;
}

// The entries about the status, and nothing else of them.
Json kept_managers(const Json& network) {
  Json out = Json::array();
  for (const Json& entry : list_at(network, {"metadata", "managedFields"})) {
    const Json* fields = value_at(entry, {"fieldsV1", "f:status"});
    if (fields == nullptr) continue;
    Json one;
    one.set("manager", text_at(entry, {"manager"}));
    one.set("fieldsV1", Json::object().set("f:status", *fields));
    out.push(std::move(one));
  }
  return out;
}

}  // namespace

Json keep_of_network_with_managers(Json&& network) {
  Json managers = kept_managers(network);
  Json out = keep_of_network(std::move(network));
  Json metadata = *out.find("metadata");
  out.set("metadata", metadata.set("managedFields", std::move(managers)));
  return out;
}

Json keep_of_network(Json&& network) {
  Json out;
  // Without annotations: kubectl apply keeps the whole object in one, a second time.
  out.set("metadata", kept_metadata(network, {"generation"}));
  for (const char* key : {"spec", "status"}) {
    if (const Json* value = network.find(key)) out.set(key, *value);
  }
  return out;
}

Json keep_of_node(Json&& node) {
  Json out;
  // Without its version: it changes with every heartbeat, and what follows from a node does not.
  out.set("metadata", Json::object().set("name", name_of(node).name));
  Json devices = Json::object();
  if (const Json* allocatable = find_below(node, "status.allocatable");
      allocatable != nullptr && allocatable->as_object() != nullptr) {
    for (const auto& [resource, quantity] : *allocatable->as_object()) {
      if (resource.find('/') != std::string::npos) devices.set(resource, quantity);
    }
  }
  out.set("status", Json::object().set("allocatable", std::move(devices)));
  return out;
}

Json keep_of_namespace(Json&& name_space) {
  Json out;
  out.set("metadata", kept_metadata(name_space));
  out.set("status", Json::object().set("phase", text_at(name_space, {"status", "phase"})));
  return out;
}

Json keep_of_definition(Json&& definition) {
  Json out;
  out.set("metadata", kept_metadata(definition, {"labels", "annotations", "ownerReferences"}));
  if (const Json* spec = definition.find("spec")) out.set("spec", *spec);
  return out;
}

Json packed(const Json& object) { return Json(std::string_view(object.text())); }

Json unpacked(const Json& text) {
  const std::string* packed = text.as_text();
  if (packed == nullptr) return Json::object();
  auto out = Json::parse_object(*packed, packed->size());
  return out ? *std::move(out) : Json::object();  // which packed() has written
}

DefinitionIndex::DefinitionIndex(const ObjectWatch::Objects& packed) : packed_(packed) {
  for (const Entry& entry : packed_) {
    const Json definition = unpacked(*entry.second);
    for (const Json& owner : list_at(definition, {"metadata", "ownerReferences"}))
      by_owner_.emplace_back(std::hash<std::string>()(text_at(owner, {"uid"})), &entry);
  }
  std::sort(by_owner_.begin(), by_owner_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

ObjectWatch::Objects DefinitionIndex::find(const ObjectName& place, const std::string& owner_uid) const {
  ObjectWatch::Objects out;
  const auto add = [&out](const Entry& entry) {
    if (!out.contains(entry.first)) out[entry.first] = std::make_shared<const Json>(unpacked(*entry.second));
  };
  if (const auto own = packed_.find(place); own != packed_.end()) add(*own);
  const size_t hash = std::hash<std::string>()(owner_uid);
  auto at = std::lower_bound(by_owner_.begin(), by_owner_.end(), hash,
                             [](const auto& one, size_t wanted) { return one.first < wanted; });
  for (; at != by_owner_.end() && at->first == hash; ++at) add(*at->second);
  return out;
}

ControllerFacts read_facts(const WatchedObjects& watched) {
  ControllerFacts out;
  out.has_definitions = watched.has_definitions;
  for (const auto& [name, object] : watched.namespaces) {
    const bool ends = is_being_deleted(*object) || text_at(*object, {"status", "phase"}) == "Terminating";
    out.namespaces[name.name] = ends ? NamespaceState::terminating : NamespaceState::active;
  }
  for (const auto& [name, node] : watched.nodes) {
    const Json* allocatable = find_below(*node, "status.allocatable");
    if (allocatable == nullptr || allocatable->as_object() == nullptr) continue;
    for (const auto& [resource, quantity] : *allocatable->as_object()) {
      if (is_some(quantity)) ++out.offers[resource];
    }
  }
  return out;
}

}  // namespace vfrail::kube
