// What the controller keeps of the objects that it watches, and what follows for all networks. Pure.
#pragma once

#include "common/json.h"
#include "plugin/kube/controller/decide.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace vfrail::kube {

// For WatchOptions::keep: a node's labels, conditions and images are many times what is needed of it.
Json keep_of_network(Json&& network);
// Also who has written the status, where the status itself does not say so.
Json keep_of_network_with_managers(Json&& network);
Json keep_of_node(Json&& node);
Json keep_of_namespace(Json&& name_space);
Json keep_of_definition(Json&& definition);

// An object as one text, in a Json: as a tree a network or a definition takes three times the memory.
Json packed(const Json& object);
Json unpacked(const Json& text);

struct WatchedObjects {
  // Packed. As kNetworkKinds has the kinds.
  std::array<ObjectWatch::Objects, kNetworkKinds.size()> networks;
  ObjectWatch::Objects definitions;  // packed
  bool has_definitions = false;      // the CRD of Multus is there
  ObjectWatch::Objects namespaces;
  ObjectWatch::Objects nodes;
};

// Finds the definitions of a network without unpacking all of them for each.
class DefinitionIndex {
 public:
  // `packed` outlives it.
  explicit DefinitionIndex(const ObjectWatch::Objects& packed);

  // Unpacked: the one of that name, and those that have an owner with that uid, or once in a great while with
  // another that has its hash.
  ObjectWatch::Objects find(const ObjectName& place, const std::string& owner_uid) const;

 private:
  using Entry = ObjectWatch::Objects::value_type;
  const ObjectWatch::Objects& packed_;
  std::vector<std::pair<size_t, const Entry*>> by_owner_;  // sorted by the hash of an owner's uid
};

ControllerFacts read_facts(const WatchedObjects& watched);

}  // namespace vfrail::kube
