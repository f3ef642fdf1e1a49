// The status of a network of network-operator: what of it is ours, and whether the operator has written it
// last. Pure; decides nothing.
#pragma once

#include "common/json.h"
#include "plugin/kube/controller/network_kind.h"

#include <optional>
#include <string>

namespace vfrail::kube {

inline constexpr const char* kReady = "ready";
inline constexpr const char* kNotReady = "notReady";
inline constexpr const char* kError = "error";

// As network-operator writes the place of a definition: a path, without "/apis/".
std::string link_to(const ObjectName& definition);
Json make_status(const NetworkKind& kind, const std::string& state, const std::string& reason,
                 const std::string& link);
// Whether what is stored has all of that status.
bool has_status(const Json& network, const Json& status);

// network-operator has written the status after us. Of a HostDeviceNetwork by its entry in appliedStates,
// which it adds to those that are there while we write ours alone. The other kinds have no such list: of them
// by metadata.managedFields, where the API server keeps who has last changed a field. Any other than us
// counts as the operator.
bool operator_wrote_status(const NetworkKind& kind, const Json& network);

// The status after a change that the API server refused; no value: it has that already.
std::optional<Json> status_of_failure(const NetworkKind& kind, const Json& network,
                                      const std::string& reason);
// Its status as server-side apply takes it.
Json status_fields(const NetworkKind& kind, const Json& network, const Json& status);

}  // namespace vfrail::kube
