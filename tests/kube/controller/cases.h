// A HostDeviceNetwork, a cluster, and what the controller decides about them, for tests.
#pragma once

#include "plugin/documents/documents.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/controller/decide.h"
#include "plugin/kube/controller/network_definition.h"
#include "plugin/kube/controller/network_status.h"

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace vfrail::test {

inline Json json(const std::string& text) {
  auto out = Json::parse(text);
  if (!out) FAIL(out.error().text);
  return *std::move(out);
}

// Sets a value below an object: set_at(nad, {"metadata", "labels"}, value).
inline void set_at(Json& object, const std::vector<std::string>& keys, Json value, size_t from = 0) {
  if (from + 1 == keys.size()) {
    object.set(keys[from], std::move(value));
    return;
  }
  const Json* inner = object.find(keys[from]);
  Json changed = inner == nullptr ? Json::object() : *inner;
  set_at(changed, keys, std::move(value), from + 1);
  object.set(keys[from], std::move(changed));
}

// The network of seed 003, as `kubectl apply` sends it.
inline const std::string kSeedIpam =
    "{\n  \"type\": \"whereabouts\",\n  \"datastore\": \"kubernetes\",\n  \"kubernetes\": {\n"
    "    \"kubeconfig\": \"/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig\"\n  },\n"
    "  \"range\": \"192.168.100.152/27\",\n  \"exclude\": [\"192.168.100.151/32\"],\n"
    "  \"log_file\": \"/var/log/whereabouts.log\",\n  \"log_level\": \"info\"\n}\n";

inline Json seed_network() {
  Json out = json(R"({"apiVersion":"mellanox.com/v1alpha1","kind":"HostDeviceNetwork","metadata":{
      "name":"hostdevice-net","uid":"u-1","resourceVersion":"10","generation":1},
      "spec":{"networkNamespace":"crater-workspace","resourceName":"hostdev"}})");
  set_at(out, {"spec", "ipam"}, kSeedIpam);
  return out;
}

inline constexpr const kube::NetworkKind& kHostDeviceKind = kube::kNetworkKinds[0];
inline constexpr const kube::NetworkKind& kMacvlanKind = kube::kNetworkKinds[1];
inline constexpr const kube::NetworkKind& kIpoibKind = kube::kNetworkKinds[2];

// One network and what is around it. step() decides; apply() does what was decided, as the API server would.
struct Case {
  Json network = seed_network();
  kube::ObjectWatch::Objects definitions = {};
  kube::ControllerFacts facts = {
      true,
      {{"crater-workspace", kube::NamespaceState::active}, {"default", kube::NamespaceState::active}},
      {{"nvidia.com/hostdev", 2}}};
  std::string cni_type = "vfrail";
  kube::NetworkMemory memory = {};
  std::chrono::steady_clock::time_point now{};
  const kube::NetworkKind* kind = &kHostDeviceKind;

  kube::Decision step() {
    kube::Decision out = kube::decide(
        {*kind, network, kube::concerning(definitions, *kind, network), facts, cni_type, memory, now});
    memory = out.memory;
    return out;
  }
  void apply(const kube::Decision& decision) {
    for (const kube::DefinitionChange& change : decision.changes) {
      if (change.kind == kube::DefinitionChange::Kind::remove) {
        definitions.erase(change.definition);
        continue;
      }
      Json stored = change.fields;
      set_at(stored, {"metadata", "uid"}, "n-" + change.definition.name_space);
      set_at(stored, {"metadata", "resourceVersion"}, "20");
      put(std::move(stored));
    }
    if (decision.status) network.set("status", *decision.status);
  }
  // The network as it is when nothing is left to do.
  Case& settled() {
    apply(step());
    return *this;
  }
  void put(Json definition) {
    const kube::ObjectName name = kube::name_of(definition);
    definitions[name] = std::make_shared<const Json>(std::move(definition));
  }
  const Json& stored(const std::string& name_space = "crater-workspace") {
    const auto at = definitions.find({name_space, "hostdevice-net"});
    REQUIRE(at != definitions.end());
    return *at->second;
  }
  // Somebody changes the stored definition.
  void edit(const std::vector<std::string>& keys, Json value) {
    Json changed = stored();
    set_at(changed, keys, std::move(value));
    put(std::move(changed));
  }
  std::string status(const std::string& key) const { return kube::text_at(network, {"status", key}); }
};

inline bool does_nothing(const kube::Decision& decision) {
  return decision.changes.empty() && !decision.status && decision.events.empty();
}

}  // namespace vfrail::test
