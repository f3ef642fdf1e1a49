#include "plugin/kube/controller/decide.h"

#include "common/text.h"
#include "plugin/documents/documents.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/controller/network_definition.h"
#include "plugin/kube/controller/network_status.h"

namespace vfrail::kube {

namespace {

using plugin::find_below;

// A state with what to say about it.
struct Finding {
  const char* state = kReady;
  std::string event;  // the reason of its event, one word
  std::string text;   // empty: nothing to say
};

// metadata.generation is a number.
std::string generation_of(const Json& network) {
  const Json* generation = find_below(network, "metadata.generation");
  return generation == nullptr ? "" : generation->text();
}

std::string quoted_name(const ObjectName& name) { return "NetworkAttachmentDefinition " + name.text(); }

class Deciding {
 public:
  explicit Deciding(const NetworkCase& at_hand)
      : case_(at_hand),
        uid_(uid_of(at_hand.network)),
        place_(definition_name(at_hand.kind, at_hand.network)) {
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
    const Finding finding = settle();
    Json status = make_status(case_.kind, finding.state, finding.text, link());
    if (has_status(case_.network, status)) return std::move(out_);
    out_.status = std::move(status);
    if (!finding.text.empty())
      out_.events.push_back({EventType::warning, finding.event, "Reconcile", finding.text});
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
    if (!operator_wrote_status(case_.kind, case_.network)) {
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
    const auto wanted = wanted_definition(case_.kind, case_.network, case_.cni_type);
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
    if (wanted->resource.empty()) return {};
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
                  (owner == own_title() ? " with another uid" : "") +
                  ": remove it, or give this object another name or namespace"};
    if (has_our_label(*at_place_)) return {};
    return {kNotReady, "NetworkNotOurs",
            it + " is there already and was not made from this object: remove it, or give it the label " +
                kManagedBy + "=" + kManagedByUs + ", with which vfrail takes it over and overwrites it"};
  }

  std::string own_title() const {
    return std::string(case_.kind.type.kind) + " " + name_of(case_.network).name;
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
      out_.changes.push_back({DefinitionChange::Kind::remove,
                              name,
                              {},
                              uid_of(*old),
                              {EventType::normal, "NetworkRemoved", "Delete",
                               "removed " + quoted_name(name) + ": the network belongs in the namespace " +
                                   place_.name_space + " now"}});
    }
  }

  // Without an owner the label makes it ours.
  bool is_ours(const Json& definition) const {
    return is_controlled_by(definition, uid_) ||
           (controlled_by(definition).empty() && has_our_label(definition));
  }

  // To the definition as it is when all is done.
  std::string link() const {
    const bool created = !out_.changes.empty() && out_.changes.front().kind == DefinitionChange::Kind::create;
    if (created) return link_to(place_);
    if (at_place_ != nullptr && is_ours(*at_place_)) return link_to(place_);
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

std::vector<const Json*> concerning(const ObjectWatch::Objects& definitions, const NetworkKind& kind,
                                    const Json& network) {
  std::vector<const Json*> out;
  const std::string uid = uid_of(network);
  const ObjectName place = definition_name(kind, network);
  for (const auto& [name, definition] : definitions) {
    if (name == place || is_controlled_by(*definition, uid)) out.push_back(definition.get());
  }
  return out;
}

}  // namespace vfrail::kube
