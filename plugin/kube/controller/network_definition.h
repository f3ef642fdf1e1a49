// NetworkAttachmentDefinitions of the networks of network-operator: what is to be stored, whose a stored one
// is, and in what it differs. Pure; decides nothing.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "plugin/kube/client/resource_type.h"
#include "plugin/kube/controller/network_kind.h"

#include <string>
#include <vector>

namespace vfrail::kube {

inline constexpr const char* kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr const char* kManagedByUs = "vfrail";

struct WantedDefinition {
  std::string resource;  // "nvidia.com/hostdev"; empty: pods on it need no device
  Json fields;           // all that we manage, as server-side apply takes it
};

// Where the definition of that network belongs, also if its spec is not valid; without a namespace where none
// is given and the kind has no default.
ObjectName definition_name(const NetworkKind& kind, const Json& network);
// `cni_type` is of the plugin that gets the device of a HostDeviceNetwork: "vfrail", "host-device". Errors
// name the key of the spec, and the position in the text of ipam or metaPlugins.
Result<WantedDefinition> wanted_definition(const NetworkKind& kind, const Json& network,
                                           const std::string& cni_type);

// "HostDeviceNetwork a", of its owner reference with `controller: true`; empty without one.
std::string controlled_by(const Json& definition);
bool is_controlled_by(const Json& definition, const std::string& uid);
// network-operator has written it, and takes it for its own.
bool is_of_operator(const Json& definition);
bool has_our_label(const Json& definition);
bool is_being_deleted(const Json& object);

// The fields that are stored otherwise than `wanted` has them: "spec.config", "metadata.ownerReferences".
std::vector<std::string> differences(const Json& stored, const WantedDefinition& wanted);

}  // namespace vfrail::kube
