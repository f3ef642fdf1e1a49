// What the controller keeps of the objects that it watches, and what follows for all networks. Pure.
#pragma once

#include "common/json.h"
#include "plugin/kube/controller/decide.h"

#include <array>

namespace vfrail::kube {

// For WatchOptions::keep: a node's labels, conditions and images are many times what is needed of it.
Json keep_of_network(Json&& network);
// Also who has written the status, where the status itself does not say so.
Json keep_of_network_with_managers(Json&& network);
Json keep_of_node(Json&& node);
Json keep_of_namespace(Json&& name_space);
Json keep_of_definition(Json&& definition);

struct WatchedObjects {
  std::array<ObjectWatch::Objects, kNetworkKinds.size()> networks;  // as kNetworkKinds has the kinds
  ObjectWatch::Objects definitions;
  bool has_definitions = false;  // the CRD of Multus is there
  ObjectWatch::Objects namespaces;
  ObjectWatch::Objects nodes;

  bool operator==(const WatchedObjects&) const = default;
};

ControllerFacts read_facts(const WatchedObjects& watched);

}  // namespace vfrail::kube
