#include "plugin/kube/controller/decide.h"

#include "common/text.h"
#include "plugin/documents/documents.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/controller/network_definition.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

using plugin::find_below;

constexpr const char* kReady = "ready";
constexpr const char* kNotReady = "notReady";
constexpr const char* kError = "error";

// A state with what to say about it.
struct Finding {
  const char* state = kReady;
  std::string event;  // the reason of its event, one word
  std::string text;   // empty: nothing to say
};

bool operator_wrote_status(const Json& network) {
  const Json* states = find_below(network, "status.appliedStates");
  if (states == nullptr || states->as_array() == nullptr) return false;
  return std::any_of(states->as_array()->begin(), states->as_array()->end(),
                     [](const Json& state) { return text_at(state, {"name"}) == kOperatorState; });
}

// metadata.generation is a number.
std::string generation_of(const Json& network) {
  const Json* generation = find_below(network, "metadata.generation");
  return generation == nullptr ? "" : generation->text();
}

// As network-operator writes it: a path, without "/apis/".
std::string link_to(const ObjectName& definition) {
  return kNetworkAttachmentDefinitions.api_version() + "/namespaces/" + definition.name_space + "/" +
         std::string(kNetworkAttachmentDefinitions.kind) + "/" + definition.name;
}

// `reason` is there even if it is empty: what server-side apply is not given it keeps for others who wrote
// it.
Json make_status(const Finding& finding, const std::string& link) {
  Json own;
  own.set("name", kOwnState);
  own.set("state", finding.state);
  if (!finding.text.empty()) own.set("message", finding.text);
  Json out;
  out.set("state", finding.state);
  out.set("reason", finding.text);
  out.set("hostDeviceNetworkAttachmentDef", link);
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

std::string quoted_name(const ObjectName& name) { return "NetworkAttachmentDefinition " + name.text(); }

class Deciding {
 public:
  explicit Deciding(const NetworkCase& at_hand)
      : case_(at_hand), uid_(uid_of(at_hand.network)), place_(definition_name(at_hand.network)) {
    for (const Json* definition : at_hand.definitions) {
      if (name_of(*definition) == place_) {
        at_place_ = definition;
      } else if (is_controlled_by(*definition, uid_) && !is_of_operator(*definition)) {
        elsewhere_.push_back(definition);
      }
    }
  }

  Decision run() {
    if (is_being_deleted(case_.network)) return {};  // garbage collection removes what it owns
    if (leave_to_operator()) return std::move(out_);
    out_.memory.operator_named = false;
    if (const Finding finding = settle(); !has_status(case_.network, make_status(finding, link()))) {
      out_.status = make_status(finding, link());
      if (!finding.text.empty())
        out_.events.push_back({EventType::warning, finding.event, "Reconcile", finding.text});
    }
    return std::move(out_);
  }

 private:
  bool leave_to_operator() {
    out_.memory = case_.memory;
    if (at_place_ != nullptr && is_of_operator(*at_place_)) {
      out_.memory.operator_since.reset();
      name_operator();
      return true;
    }
    if (!operator_wrote_status(case_.network)) {
      out_.memory.operator_since.reset();
      return false;
    }
    NetworkMemory& memory = out_.memory;
    if (!memory.operator_since || memory.generation != generation_of(case_.network)) {
      memory.operator_since = case_.now;
      memory.generation = generation_of(case_.network);
    }
    const auto until = *memory.operator_since + kOperatorPatience;
    if (case_.now >= until) return false;
    out_.again_at = until;
    return true;
  }

  void name_operator() {
    if (out_.memory.operator_named) return;
    out_.memory.operator_named = true;
    out_.events.push_back(
        {EventType::normal, "ManagedByOperator", "Reconcile",
         quoted_name(place_) +
             " is managed by network-operator, and vfrail leaves it alone. To have it managed by vfrail, "
             "remove the operator, then this definition or its label nvidia.network-operator.state and its "
             "annotation nvidia.network-operator.revision"});
  }

  Finding settle() {
    const auto wanted = wanted_definition(case_.network, case_.cni_type);
    if (!wanted) {
      const bool kept = at_place_ != nullptr || !elsewhere_.empty();
      return {kError, "InvalidSpec",
              wanted.error().text + (kept ? "; the NetworkAttachmentDefinition stays as it was" : "")};
    }
    if (Finding obstacle = find_obstacle(); !obstacle.text.empty()) return obstacle;
    if (at_place_ == nullptr) {
      create(*wanted);
    } else {
      put_right(*wanted);
    }
    remove_elsewhere();
    const auto offer = case_.facts.offers.find(wanted->resource);
    if (offer != case_.facts.offers.end() && offer->second > 0) return {};
    return {
        kReady, "NoNodeOffersResource",
        "no node offers " + wanted->resource +
            ": pods that ask for it stay Pending until a device plugin advertises it with a healthy device"};
  }

  Finding find_obstacle() const {
    if (!case_.facts.has_definitions)
      return {
          kNotReady, "NoMultus",
          "the API server has no NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1): install Multus, or its "
          "CustomResourceDefinition"};
    const std::string name_space = "the namespace " + place_.name_space + " (spec.networkNamespace)";
    const auto found = case_.facts.namespaces.find(place_.name_space);
    if (found == case_.facts.namespaces.end() || found->second == NamespaceState::missing)
      return {kNotReady, "NamespaceMissing", name_space + " does not exist: create it"};
    if (found->second == NamespaceState::terminating)
      return {
          kNotReady, "NamespaceTerminating",
          name_space + " is being deleted: nothing can be created in it before it is gone and there again"};
    return at_place_ == nullptr ? Finding() : foreign();
  }

  // Somebody else's definition under our name is not overwritten.
  Finding foreign() const {
    const std::string it = quoted_name(place_);
    if (is_being_deleted(*at_place_))
      return {kNotReady, "NetworkTerminating", it + " is being deleted; it is created again when it is gone"};
    if (is_controlled_by(*at_place_, uid_)) return {};
    if (const std::string owner = controlled_by(*at_place_); !owner.empty())
      return {kNotReady, "NetworkNotOurs",
              it + " is there already and belongs to " + owner +
                  " with another uid: remove it, or give this object another name or namespace"};
    if (has_our_label(*at_place_)) return {};
    return {kNotReady, "NetworkNotOurs",
            it + " is there already and was not made from this object: remove it, or give it the label " +
                kManagedBy + "=" + kManagedByUs + ", with which vfrail takes it over and overwrites it"};
  }

  void create(const WantedDefinition& wanted) {
    out_.changes.push_back(
        {DefinitionChange::Kind::create,
         place_,
         wanted.fields,
         "",
         {EventType::normal, "NetworkCreated", "Create", "created " + quoted_name(place_)}});
  }

  void put_right(const WantedDefinition& wanted) {
    const std::vector<std::string> found = differences(*at_place_, wanted);
    if (found.empty()) return;
    DefinitionChange change{
        DefinitionChange::Kind::apply,
        place_,
        wanted.fields,
        "",
        {EventType::normal, "NetworkChanged", "Apply",
         "changed " + quoted_name(place_) + ", which differed from this object in " + joined(found)}};
    Json metadata = *wanted.fields.find("metadata");
    metadata.set("resourceVersion", version_of(*at_place_));
    change.fields.set("metadata", std::move(metadata));
    out_.changes.push_back(std::move(change));
  }

  // The new definition is there before the old one goes. Pods that run keep their devices: DEL needs no
  // definition.
  void remove_elsewhere() {
    for (const Json* old : elsewhere_) {
      if (is_being_deleted(*old)) continue;
      const ObjectName name = name_of(*old);
      out_.changes.push_back(
          {DefinitionChange::Kind::remove,
           name,
           {},
           uid_of(*old),
           {EventType::normal, "NetworkRemoved", "Delete",
            "removed " + quoted_name(name) + ": spec.networkNamespace is now " + place_.name_space}});
    }
  }

  // To the definition as it is when all is done.
  std::string link() const {
    const bool created = !out_.changes.empty() && out_.changes.front().kind == DefinitionChange::Kind::create;
    if (created) return link_to(place_);
    if (at_place_ != nullptr && (is_controlled_by(*at_place_, uid_) || has_our_label(*at_place_)))
      return link_to(place_);
    return elsewhere_.empty() ? "" : link_to(name_of(*elsewhere_.front()));
  }

  const NetworkCase& case_;
  const std::string uid_;
  const ObjectName place_;
  const Json* at_place_ = nullptr;
  std::vector<const Json*> elsewhere_;  // ours, but not where it belongs
  Decision out_;
};

}  // namespace

Decision decide(const NetworkCase& at_hand) { return Deciding(at_hand).run(); }

std::vector<const Json*> concerning(const ObjectWatch::Objects& definitions, const Json& network) {
  std::vector<const Json*> out;
  const std::string uid = uid_of(network);
  const ObjectName place = definition_name(network);
  for (const auto& [name, definition] : definitions) {
    if (name == place || is_controlled_by(*definition, uid)) out.push_back(definition.get());
  }
  return out;
}

std::optional<Json> status_of_failure(const Json& network, const std::string& reason) {
  const Json status =
      make_status({kNotReady, "", reason}, text_at(network, {"status", "hostDeviceNetworkAttachmentDef"}));
  return has_status(network, status) ? std::nullopt : std::optional(status);
}

Json status_fields(const Json& network, const Json& status) {
  Json metadata;
  metadata.set("name", name_of(network).name);
  metadata.set("resourceVersion", version_of(network));  // refused if the operator has written meanwhile
  Json out;
  out.set("apiVersion", kHostDeviceNetworks.api_version());
  out.set("kind", kHostDeviceNetworks.kind);
  out.set("metadata", std::move(metadata));
  out.set("status", status);
  return out;
}

}  // namespace vfrail::kube
