#include "plugin/kube/controller/reconciler.h"

#include "plugin/kube/access/fields.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

constexpr int kFirstHttpError = 300;
constexpr int kTooManyRequests = 429;
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
Json reference(const Json& network) {
  Json out;
  out.set("apiVersion", kHostDeviceNetworks.api_version());
  out.set("kind", kHostDeviceNetworks.kind);
  if (const Json* metadata = network.find("metadata")) out.set("metadata", *metadata);
  return out;
}

}  // namespace

void Reconciler::pass(const WatchedObjects& watched, const std::function<bool()>& may_go_on) {
  const ControllerFacts facts = read_facts(watched);
  std::erase_if(work_, [&](const auto& one) { return !watched.networks.contains(one.first); });
  for (const auto& [name, network] : watched.networks) {
    if (!may_go_on()) return;
    const auto now = Steady::now();
    Work& work = work_[name];
    if (work.held_back && work.again_at && now < *work.again_at) continue;
    Decision decision = decide(
        {*network, concerning(watched.definitions, *network), facts, parts_.cni_type, work.memory, now});
    work.memory = decision.memory;
    work.again_at = decision.again_at;
    work.held_back = false;
    const Outcome outcome = reconcile(*network, std::move(decision));
    if (outcome == Outcome::done) continue;
    work.again_at = now + work.backoff.after_failure(now);
    work.held_back = true;
    if (outcome == Outcome::no_server) return;
  }
}

std::optional<Reconciler::Steady::time_point> Reconciler::next() const {
  std::optional<Steady::time_point> out;
  for (const auto& [name, work] : work_) {
    if (work.again_at && (!out || *work.again_at < *out)) out = work.again_at;
  }
  return out;
}

Reconciler::Outcome Reconciler::reconcile(const Json& network, Decision decision) {
  for (const DefinitionChange& change : decision.changes) {
    if (const auto done = carry_out(network, change); !done) return fail(network, done.error());
    record(network, change.event);
  }
  if (decision.status) {
    if (const auto done = write_status(network, *decision.status); !done) return fail(network, done.error());
  }
  for (const Event& event : decision.events) record(network, event);
  return Outcome::done;
}

Result<> Reconciler::carry_out(const Json& network, const DefinitionChange& change) {
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
  parts_.log.info("NetworkAttachmentDefinition written", {{"network", name_of(network).name},
                                                          {"definition", change.definition.text()},
                                                          {"change", change.event.note}});
  return {};
}

Result<> Reconciler::write_status(const Json& network, const Json& status) {
  TRY(parts_.client.apply(kHostDeviceNetworks, name_of(network), status_fields(network, status),
                          {.subresource = "status"}));
  parts_.log.info("status written", {{"network", name_of(network).name},
                                     {"state", text_at(status, {"state"})},
                                     {"reason", text_at(status, {"reason"})}});
  return {};
}

// What the server refuses for good is shown on the object; what passes is not.
Reconciler::Outcome Reconciler::fail(const Json& network, const Error& error) {
  const std::string name = name_of(network).name;
  if (!is_of_server(error) && is_overtaken(error)) {
    parts_.log.debug("network has changed meanwhile, trying again",
                     {{"network", name}, {"error", error.text}});
    return Outcome::retry;
  }
  if (error.code == Errc::not_yet) return Outcome::no_server;  // a stop
  parts_.log.warning("network is not as it should be, trying again",
                     {{"network", name}, {"error", error.text}, {"id", error.id_text()}});
  if (is_of_server(error)) return Outcome::no_server;
  record(network, {EventType::warning, "NotWritten", "Reconcile", error.text});
  if (const auto status = status_of_failure(network, error.text)) {
    if (const auto done = write_status(network, *status); !done)
      parts_.log.debug("its status could not be written", {{"network", name}, {"error", done.error().text}});
  }
  return Outcome::retry;
}

void Reconciler::record(const Json& network, const Event& event) {
  if (event.type == EventType::warning || event.reason == "ManagedByOperator")
    parts_.log.info("event",
                    {{"network", name_of(network).name}, {"reason", event.reason}, {"note", event.note}});
  parts_.events.record(parts_.client, reference(network), event, Steady::now());
}

}  // namespace vfrail::kube
