#include "plugin/kube/controller/reconciler.h"

#include "plugin/kube/access/fields.h"
#include "plugin/kube/client/refusal.h"
#include "plugin/kube/controller/network_definition.h"
#include "plugin/kube/controller/network_status.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

constexpr int kFirstHttpError = 300;
constexpr int kFirstServerError = 500;

// Nobody answers, or who answers cannot: then the other networks have no better luck.
bool is_of_server(const Error& error) {
  return error.sys < kFirstHttpError || error.sys == kTooManyRequests || error.sys >= kFirstServerError;
}

// Somebody was faster, and the watch will show what there is now.
bool is_overtaken(const Error& error) {
  return error.code == Errc::busy || error.code == Errc::exists || error.code == Errc::not_found;
}

// What an event is about: lists of the API server leave kind and apiVersion out.
Json reference(const NetworkKind& kind, const Json& network) {
  Json out;
  out.set("apiVersion", kind.type.api_version());
  out.set("kind", kind.type.kind);
  if (const Json* metadata = network.find("metadata")) out.set("metadata", *metadata);
  return out;
}

// For the log: networks of two kinds may have one name.
std::string title_of(const NetworkKind& kind, const Json& network) {
  return std::string(kind.type.kind) + " " + name_of(network).name;
}

}  // namespace

void Reconciler::pass(const WatchedObjects& watched, const std::function<bool()>& may_go_on) {
  const ControllerFacts facts = read_facts(watched);
  std::erase_if(
      work_, [&](const auto& one) { return !watched.networks[one.first.first].contains(one.first.second); });
  const DefinitionIndex definitions(watched.definitions);
  for (size_t i = 0; i < kNetworkKinds.size(); ++i) {
    for (const auto& [name, kept] : watched.networks[i]) {
      if (!may_go_on()) return;
      const Json network = unpacked(*kept);
      const auto work = work_.try_emplace({i, name}).first;
      const bool goes_on = serve({kNetworkKinds[i], network}, definitions, facts, work->second);
      if (!work->second.is_needed()) work_.erase(work);
      if (!goes_on) return;
    }
  }
}

bool Reconciler::serve(const Subject& subject, const DefinitionIndex& definitions,
                       const ControllerFacts& facts, Work& work) {
  const auto now = Steady::now();
  if (work.held_back && work.again_at && now < *work.again_at) return true;
  const ObjectWatch::Objects candidates =
      definitions.find(definition_name(subject.kind, subject.network), uid_of(subject.network));
  Decision decision =
      decide({subject.kind, subject.network, concerning(candidates, subject.kind, subject.network), facts,
              parts_.cni_type, work.memory, now});
  work.memory = decision.memory;
  work.again_at = decision.again_at;
  work.held_back = false;
  const Outcome outcome = reconcile(subject, std::move(decision));
  if (outcome == Outcome::done) return true;
  if (!work.backoff) work.backoff.emplace();
  work.again_at = now + work.backoff->after_failure(now);
  work.held_back = true;
  return outcome != Outcome::no_server;
}

std::optional<Reconciler::Steady::time_point> Reconciler::next() const {
  std::optional<Steady::time_point> out;
  for (const auto& [name, work] : work_) {
    if (work.again_at && (!out || *work.again_at < *out)) out = work.again_at;
  }
  return out;
}

Reconciler::Outcome Reconciler::reconcile(const Subject& subject, Decision decision) {
  for (const DefinitionChange& change : decision.changes) {
    if (const auto done = carry_out(subject, change); !done) return fail(subject, done.error());
    record(subject, change.event);
  }
  if (decision.status) {
    if (const auto done = write_status(subject, *decision.status); !done) return fail(subject, done.error());
  }
  for (const Event& event : decision.events) record(subject, event);
  return Outcome::done;
}

Result<> Reconciler::carry_out(const Subject& subject, const DefinitionChange& change) {
  const ResourceType& type = kNetworkAttachmentDefinitions;
  switch (change.kind) {
    case DefinitionChange::Kind::create:
      TRY(parts_.client.create(type, change.definition.name_space, change.fields));
      break;
    case DefinitionChange::Kind::apply:
      TRY(parts_.client.apply(type, change.definition, change.fields));
      break;
    case DefinitionChange::Kind::remove:
      TRY(parts_.client.remove(type, change.definition, change.uid));
      break;
  }
  parts_.log.info("NetworkAttachmentDefinition written",
                  {{"network", title_of(subject.kind, subject.network)},
                   {"definition", change.definition.text()},
                   {"change", change.event.note}});
  return {};
}

Result<> Reconciler::write_status(const Subject& subject, const Json& status) {
  TRY(parts_.client.apply(subject.kind.type, name_of(subject.network),
                          status_fields(subject.kind, subject.network, status), {.subresource = "status"}));
  parts_.log.info("status written", {{"network", title_of(subject.kind, subject.network)},
                                     {"state", text_at(status, {"state"})},
                                     {"reason", text_at(status, {"reason"})}});
  return {};
}

// What the server refuses for good is shown on the object; what passes is not.
Reconciler::Outcome Reconciler::fail(const Subject& subject, const Error& error) {
  const std::string name = title_of(subject.kind, subject.network);
  if (!is_of_server(error) && is_overtaken(error)) {
    parts_.log.debug("network has changed meanwhile, trying again",
                     {{"network", name}, {"error", error.text}});
    return Outcome::retry;
  }
  if (error.code == Errc::not_yet) return Outcome::no_server;  // a stop
  parts_.log.warning("network is not as it should be, trying again",
                     {{"network", name}, {"error", error.text}, {"id", error.id_text()}});
  if (is_of_server(error)) return Outcome::no_server;
  record(subject, {EventType::warning, "NotWritten", "Reconcile", error.text});
  if (const auto status = status_of_failure(subject.kind, subject.network, error.text)) {
    if (const auto done = write_status(subject, *status); !done)
      parts_.log.debug("its status could not be written", {{"network", name}, {"error", done.error().text}});
  }
  return Outcome::retry;
}

void Reconciler::record(const Subject& subject, const Event& event) {
  if (event.type == EventType::warning || event.reason == "ManagedByOperator")
    parts_.log.info("event", {{"network", title_of(subject.kind, subject.network)},
                              {"reason", event.reason},
                              {"note", event.note}});
  parts_.events.record(parts_.client, reference(subject.kind, subject.network), event, Steady::now());
}

}  // namespace vfrail::kube
