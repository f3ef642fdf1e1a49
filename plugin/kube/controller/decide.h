// decide(): what is to be done about one network of network-operator, from what the cluster has. Pure: no
// request, no clock, no log.
//
// network-operator may be there as well. What it has written, the definition (by label or annotation) and the
// status (network_status.h says how it is known), is left alone. A status of the operator without a
// definition of the operator is what it leaves when it is removed; but also what it has in the middle of its
// work, so that it is waited for before we take over.
#pragma once

#include "common/json.h"
#include "plugin/kube/client/event_recorder.h"
#include "plugin/kube/client/object_watch.h"
#include "plugin/kube/client/resource_type.h"
#include "plugin/kube/controller/network_kind.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::kube {

// The operator tries every 5 seconds what does not succeed (CONTROLLER_REQUEST_REQUEUE_SECONDS), and may
// itself be in the middle of an update.
inline constexpr std::chrono::minutes kOperatorPatience{2};

enum class NamespaceState : uint8_t { missing, terminating, active };

// What of the cluster concerns all networks.
struct ControllerFacts {
  bool has_definitions = false;  // the CRD of Multus is there
  std::map<std::string, NamespaceState> namespaces;
  std::map<std::string, size_t> offers;  // resource -> nodes that have some of it

  bool operator==(const ControllerFacts&) const = default;
};

// What is remembered of one network between two decisions. It may be lost: we then wait for the operator
// again.
struct NetworkMemory {
  using Steady = std::chrono::steady_clock;

  std::optional<Steady::time_point> operator_since;  // its status, without a definition of it
  std::string generation;                            // of the network, at that time
  bool operator_named = false;                       // that it manages the network has been reported

  bool operator==(const NetworkMemory&) const = default;
};

struct NetworkCase {
  const NetworkKind& kind;
  const Json& network;
  std::vector<const Json*> definitions;  // as concerning() has them
  const ControllerFacts& facts;
  const std::string& cni_type;  // as wanted_definition() has it
  NetworkMemory memory;
  std::chrono::steady_clock::time_point now;
};

struct DefinitionChange {
  enum class Kind : uint8_t { create, apply, remove };
  Kind kind = Kind::create;
  ObjectName definition;
  // Of create and apply. That of an apply has the resourceVersion which was compared, so that what somebody
  // else has written meanwhile is compared first.
  Json fields;
  std::string uid;  // of remove
  Event event;      // when it is done
};

struct Decision {
  std::vector<DefinitionChange> changes;  // in this order; those behind a failure are not to be done
  std::optional<Json> status;             // no value: it is as it should be, or not ours
  std::vector<Event> events;              // beside those of the changes
  NetworkMemory memory;
  std::optional<std::chrono::steady_clock::time_point> again_at;  // though nothing changes
};

Decision decide(const NetworkCase& at_hand);

// The definition where that of the network belongs, and all that it owns.
std::vector<const Json*> concerning(const ObjectWatch::Objects& definitions, const NetworkKind& kind,
                                    const Json& network);

}  // namespace vfrail::kube
