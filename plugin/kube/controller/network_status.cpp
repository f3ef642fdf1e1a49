#include "plugin/kube/controller/network_status.h"

#include "plugin/kube/access/fields.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

// Of ApplyOptions.
constexpr const char* kOwnManager = "vfrail";

bool has_state_of(const Json& network, std::string_view name) {
  const Json::Array& states = list_at(network, {"status", "appliedStates"});
  return std::any_of(states.begin(), states.end(),
                     [&](const Json& state) { return text_at(state, {"name"}) == name; });
}

// The operator's update takes from us the fields that it changes, and drops a reason that is empty, which we
// always write. With nobody's record, which anybody may empty, nobody is waited for.
bool others_wrote_status(const Json& network) {
  bool others = false;
  bool ours = false;
  for (const Json& entry : list_at(network, {"metadata", "managedFields"})) {
    const Json* fields = value_at(entry, {"fieldsV1", "f:status"});
    if (fields == nullptr) continue;
    if (text_at(entry, {"manager"}) != kOwnManager)
      others = true;
    else
      ours = ours || (fields->find("f:state") != nullptr && fields->find("f:reason") != nullptr);
  }
  return others && !ours;
}

}  // namespace

std::string link_to(const ObjectName& definition) {
  return kNetworkAttachmentDefinitions.api_version() + "/namespaces/" + definition.name_space + "/" +
         std::string(kNetworkAttachmentDefinitions.kind) + "/" + definition.name;
}

// `reason` is there even if it is empty: what server-side apply is not given it keeps for others who wrote
// it.
Json make_status(const NetworkKind& kind, const std::string& state, const std::string& reason,
                 const std::string& link) {
  Json out;
  out.set("state", state);
  out.set("reason", reason);
  out.set(kind.link, link);
  if (kind.own_state.empty()) return out;
  Json own;
  own.set("name", kind.own_state);
  own.set("state", state);
  if (!reason.empty()) own.set("message", reason);
  out.set("appliedStates", Json::array().push(std::move(own)));
  return out;
}

bool has_status(const Json& network, const Json& status) {
  const Json* stored = network.find("status");
  if (stored == nullptr) return false;
  for (const auto& [key, value] : *status.as_object()) {
    const Json* one = stored->find(key);
    if (one == nullptr || one->text(Json::Order::sorted) != value.text(Json::Order::sorted)) return false;
  }
  return true;
}

bool operator_wrote_status(const NetworkKind& kind, const Json& network) {
  return kind.operator_state.empty() ? others_wrote_status(network)
                                     : has_state_of(network, kind.operator_state);
}

std::optional<Json> status_of_failure(const NetworkKind& kind, const Json& network,
                                      const std::string& reason) {
  const Json status = make_status(kind, kNotReady, reason, text_at(network, {"status", kind.link}));
  return has_status(network, status) ? std::nullopt : std::optional(status);
}

Json status_fields(const NetworkKind& kind, const Json& network, const Json& status) {
  Json metadata;
  metadata.set("name", name_of(network).name);
  metadata.set("resourceVersion", version_of(network));  // refused if the operator has written meanwhile
  Json out;
  out.set("apiVersion", kind.type.api_version());
  out.set("kind", kind.type.kind);
  out.set("metadata", std::move(metadata));
  out.set("status", status);
  return out;
}

}  // namespace vfrail::kube
