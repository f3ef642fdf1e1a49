#include "plugin/kube/controller/network_definition.h"

#include "plugin/documents/network.h"
#include "plugin/kube/access/fields.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

using plugin::find_below;

constexpr const char* kResourceAnnotation = "k8s.v1.cni.cncf.io/resourceName";
// network-operator's: a definition that has either is one that it has written.
constexpr const char* kOperatorLabel = "nvidia.network-operator.state";
constexpr const char* kOperatorAnnotation = "nvidia.network-operator.revision";

// As a file would have it. Values know no line: the API server's objects are in no file of the user.
plugin::Document document_of(const NetworkKind& kind, const Json& network) {
  plugin::Document out;
  out.kind = kind.type.kind;
  out.group = kind.type.group;
  out.name = name_of(network).name;
  out.where = out.title();
  out.value.set("metadata", Json::object().set("name", out.name));
  Json spec = Json::object();
  if (const Json* given = network.find("spec"); given != nullptr && given->as_object() != nullptr) {
    for (const auto& [key, value] : *given->as_object()) spec.set(key, Json(value).at_line(0));
  }
  out.value.set("spec", std::move(spec));
  out.file_text = std::make_shared<const std::string>();
  return out;
}

// The text that is stored as spec.config.
Result<std::string> config_of(const plugin::OperatorNetwork& network, const std::string& cni_type) {
  const std::string manifest = TRY(plugin::render_network(network, cni_type));
  const auto documents = TRY(plugin::read_documents(manifest, "the NetworkAttachmentDefinition"));
  return *find_below(documents.front().value, "spec.config")->as_text();  // render_network() has checked it
}

Json owner_reference(const NetworkKind& kind, const Json& network) {
  Json out;
  out.set("apiVersion", kind.type.api_version());
  out.set("kind", kind.type.kind);
  out.set("name", name_of(network).name);
  out.set("uid", uid_of(network));
  out.set("controller", true);
  out.set("blockOwnerDeletion", true);
  return out;
}

const Json::Array& owners_of(const Json& object) {
  static const Json::Array kNone;
  const Json* owners = find_below(object, "metadata.ownerReferences");
  return owners == nullptr || owners->as_array() == nullptr ? kNone : *owners->as_array();
}

const Json* controlling_owner(const Json& object) {
  for (const Json& owner : owners_of(object)) {
    const Json* controls = owner.find("controller");
    if (controls != nullptr && *controls == Json(true)) return &owner;
  }
  return nullptr;
}

bool has_metadata(const Json& object, const char* map, const char* key) {
  const Json* texts = find_below(object, std::string("metadata.") + map);
  return texts != nullptr && texts->find(key) != nullptr;
}

bool has_owner(const Json& stored, const Json& wanted) {
  const std::string text = wanted.text(Json::Order::sorted);
  const Json::Array& owners = owners_of(stored);
  return std::any_of(owners.begin(), owners.end(),
                     [&](const Json& owner) { return owner.text(Json::Order::sorted) == text; });
}

}  // namespace

ObjectName definition_name(const NetworkKind& kind, const Json& network) {
  std::string name_space = text_at(network, {"spec", "networkNamespace"});
  if (name_space.empty()) name_space = kind.default_namespace;
  return {std::move(name_space), name_of(network).name};
}

Result<WantedDefinition> wanted_definition(const NetworkKind& kind, const Json& network,
                                           const std::string& cni_type) {
  const plugin::Document document = document_of(kind, network);
  const plugin::OperatorNetwork read = TRY(plugin::read_operator_network(document, kind.document));
  const std::string config = TRY(config_of(read, cni_type));
  // Of the object's keys only those in their own letters are the API's: `read` takes others, too.
  const ObjectName place = definition_name(kind, network);
  Json metadata;
  metadata.set("name", place.name);
  metadata.set("namespace", place.name_space);
  metadata.set("labels", Json::object().set(kManagedBy, kManagedByUs));
  if (!read.resource.empty())
    metadata.set("annotations", Json::object().set(kResourceAnnotation, read.resource));
  metadata.set("ownerReferences", Json::array().push(owner_reference(kind, network)));
  WantedDefinition out;
  out.resource = read.resource;
  out.fields.set("apiVersion", kNetworkAttachmentDefinitions.api_version());
  out.fields.set("kind", kNetworkAttachmentDefinitions.kind);
  out.fields.set("metadata", std::move(metadata));
  out.fields.set("spec", Json::object().set("config", config));
  return out;
}

std::string controlled_by(const Json& definition) {
  const Json* owner = controlling_owner(definition);
  return owner == nullptr ? "" : text_at(*owner, {"kind"}) + " " + text_at(*owner, {"name"});
}

bool is_controlled_by(const Json& definition, const std::string& uid) {
  const Json* owner = controlling_owner(definition);
  return owner != nullptr && !uid.empty() && text_at(*owner, {"uid"}) == uid;
}

bool is_of_operator(const Json& definition) {
  return has_metadata(definition, "labels", kOperatorLabel) ||
         has_metadata(definition, "annotations", kOperatorAnnotation);
}

bool has_our_label(const Json& definition) {
  return text_at(definition, {"metadata", "labels", kManagedBy}) == kManagedByUs;
}

bool is_being_deleted(const Json& object) {
  return !text_at(object, {"metadata", "deletionTimestamp"}).empty();
}

std::vector<std::string> differences(const Json& stored, const WantedDefinition& wanted) {
  std::vector<std::string> out;
  if (!has_our_label(stored)) out.push_back(std::string("the label ") + kManagedBy);
  // Of a network without a resource it is the user's, who may share an RDMA device by it.
  if (!wanted.resource.empty() &&
      text_at(stored, {"metadata", "annotations", kResourceAnnotation}) != wanted.resource)
    out.push_back(std::string("the annotation ") + kResourceAnnotation);
  if (!has_owner(stored, owners_of(wanted.fields).front())) out.push_back("metadata.ownerReferences");
  if (text_at(stored, {"spec", "config"}) != text_at(wanted.fields, {"spec", "config"}))
    out.push_back("spec.config");
  return out;
}

}  // namespace vfrail::kube
