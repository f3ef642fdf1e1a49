#include "plugin/kube/controller/decide.h"

#include "tests/kube/controller/cases.h"

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;
using Catch::Contains;

namespace {

Json config_of(const Json& definition) { return json(text_at(definition, {"spec", "config"})); }

Json seed_config(const std::string& type) {
  Json out = json(R"({"cniVersion":"0.3.1","name":"hostdevice-net"})");
  out.set("type", type);
  out.set("ipam", json(kSeedIpam));
  return out;
}

}  // namespace

TEST_CASE("the network of seed 003 becomes the definition that network-operator makes of it") {
  Case one;
  one.cni_type = "host-device";
  const Decision decision = one.step();
  REQUIRE(decision.changes.size() == 1);
  const DefinitionChange& change = decision.changes.front();
  CHECK(change.kind == DefinitionChange::Kind::create);
  CHECK(change.definition.text() == "crater-workspace/hostdevice-net");
  CHECK(change.fields.find("apiVersion")->text() == "\"k8s.cni.cncf.io/v1\"");
  CHECK(change.fields.find("kind")->text() == "\"NetworkAttachmentDefinition\"");
  CHECK(config_of(change.fields) == seed_config("host-device"));
  CHECK(change.fields.find("metadata")->text() ==
        R"({"name":"hostdevice-net","namespace":"crater-workspace",)"
        R"("labels":{"app.kubernetes.io/managed-by":"vfrail"},)"
        R"("annotations":{"k8s.v1.cni.cncf.io/resourceName":"nvidia.com/hostdev"},)"
        R"("ownerReferences":[{"apiVersion":"mellanox.com/v1alpha1","kind":"HostDeviceNetwork",)"
        R"("name":"hostdevice-net","uid":"u-1","controller":true,"blockOwnerDeletion":true}]})");
  CHECK(change.event.reason == "NetworkCreated");
}

TEST_CASE("the definition names vfrail's plugin unless another is asked for") {
  const Decision decision = Case().step();
  REQUIRE(decision.changes.size() == 1);
  CHECK(config_of(decision.changes.front().fields) == seed_config("vfrail"));
}

TEST_CASE("a definition is created in the namespace that it names, whatever else the spec has") {
  Case one;
  one.facts.namespaces["default"] = NamespaceState::active;
  set_at(one.network, {"spec", "networkNamespacE"}, "elsewhere");
  const Decision decision = one.step();
  REQUIRE(decision.changes.size() == 1);
  const DefinitionChange& change = decision.changes.front();
  CHECK(text_at(change.fields, {"metadata", "namespace"}) == change.definition.name_space);
}

TEST_CASE("metaPlugins follow the plugin in a list") {
  const auto plugins = [](const std::string& meta_plugins) {
    Case one;
    set_at(one.network, {"spec", "metaPlugins"}, meta_plugins);
    const Decision decision = one.step();
    REQUIRE(decision.changes.size() == 1);
    const Json config = config_of(decision.changes.front().fields);
    CHECK(config.find("type") == nullptr);
    std::string types;
    for (const Json& plugin : *config.find("plugins")->as_array()) types += text_at(plugin, {"type"}) + " ";
    CHECK(*config.find("plugins")->as_array()->front().find("ipam") == json(kSeedIpam));
    return types;
  };
  CHECK(plugins(R"({"type":"rdma"})") == "vfrail rdma ");
  CHECK(plugins(R"({"type":"rdma"}, {"type":"tuning","mtu":4200})") == "vfrail rdma tuning ");
}

TEST_CASE("a network is ready when its definition is stored and a node offers its resource") {
  Case one;
  one.settled();
  CHECK(one.network.find("status")->text() ==
        R"({"state":"ready","reason":"","hostDeviceNetworkAttachmentDef":)"
        R"("k8s.cni.cncf.io/v1/namespaces/crater-workspace/NetworkAttachmentDefinition/hostdevice-net",)"
        R"("appliedStates":[{"name":"vfrail-host-device-network","state":"ready"}]})");
  CHECK(does_nothing(one.step()));
}

TEST_CASE("the order of keys that the API server stores is no difference") {
  Case one;
  one.settled();
  for (Json* object : {&one.network}) {
    const Json status = json(object->find("status")->text(Json::Order::sorted));
    object->set("status", status);
  }
  one.put(json(one.stored().text(Json::Order::sorted)));
  CHECK(does_nothing(one.step()));
}

TEST_CASE("a network whose namespace changes gets its definition there before the old one goes") {
  Case one;
  one.settled();
  set_at(one.network, {"spec", "networkNamespace"}, "default");
  const Decision decision = one.step();
  REQUIRE(decision.changes.size() == 2);
  CHECK(decision.changes[0].kind == DefinitionChange::Kind::create);
  CHECK(decision.changes[0].definition.name_space == "default");
  CHECK(decision.changes[1].kind == DefinitionChange::Kind::remove);
  CHECK(decision.changes[1].definition.name_space == "crater-workspace");
  CHECK(decision.changes[1].uid == "n-crater-workspace");
  one.apply(decision);
  CHECK(one.status("hostDeviceNetworkAttachmentDef") ==
        "k8s.cni.cncf.io/v1/namespaces/default/NetworkAttachmentDefinition/hostdevice-net");
  CHECK(does_nothing(one.step()));
}

TEST_CASE("the old definition stays while the new namespace is missing") {
  Case one;
  one.settled();
  set_at(one.network, {"spec", "networkNamespace"}, "elsewhere");
  const Decision decision = one.step();
  CHECK(decision.changes.empty());
  one.apply(decision);
  CHECK(one.status("state") == "notReady");
  CHECK_THAT(one.status("hostDeviceNetworkAttachmentDef"), Contains("/crater-workspace/"));
}

TEST_CASE("what is edited by hand is put back") {
  const auto [keys, value, named] = GENERATE(table<std::vector<std::string>, Json, std::string>({
      {{"spec", "config"}, Json("{}"), "spec.config"},
      {{"spec"}, Json::object(), "spec.config"},
      {{"metadata", "labels"}, Json::object(), "the label app.kubernetes.io/managed-by"},
      {{"metadata", "annotations"}, Json::object(), "the annotation k8s.v1.cni.cncf.io/resourceName"},
      {{"metadata", "ownerReferences"}, Json::array(), "metadata.ownerReferences"},
  }));
  Case one;
  one.settled().edit(keys, value);
  const Decision decision = one.step();
  REQUIRE(decision.changes.size() == 1);
  const DefinitionChange& change = decision.changes.front();
  CHECK(change.kind == DefinitionChange::Kind::apply);
  CHECK(text_at(change.fields, {"metadata", "resourceVersion"}) == "20");
  CHECK_THAT(change.event.note, Contains("differed from this object in " + named));
  one.apply(decision);
  CHECK(does_nothing(one.step()));
}

TEST_CASE("what others add to a definition stays") {
  Case one;
  one.settled();
  Json labels = *one.stored().find("metadata")->find("labels");
  one.edit({"metadata", "labels"}, labels.set("team", "net"));
  CHECK(does_nothing(one.step()));
}

TEST_CASE("a changed resource changes the definition") {
  Case one;
  one.settled();
  set_at(one.network, {"spec", "resourceName"}, "nvidia.com/other");
  const Decision decision = one.step();
  REQUIRE(decision.changes.size() == 1);
  CHECK(decision.changes.front().kind == DefinitionChange::Kind::apply);
  one.apply(decision);
  CHECK(one.status("state") == "ready");
  CHECK_THAT(one.status("reason"), Contains("no node offers nvidia.com/other"));
}

TEST_CASE("a resource that no node offers is the reason, with a warning, and the definition is there") {
  for (const bool named : {false, true}) {
    Case one;
    one.facts.offers =
        named ? std::map<std::string, size_t>{{"nvidia.com/hostdev", 0}} : std::map<std::string, size_t>{};
    const Decision decision = one.step();
    CHECK(decision.changes.size() == 1);
    REQUIRE(decision.events.size() == 1);
    CHECK(decision.events.front().type == EventType::warning);
    CHECK(decision.events.front().reason == "NoNodeOffersResource");
    one.apply(decision);
    CHECK(one.status("state") == "ready");
    CHECK_THAT(one.status("reason"), Contains("no node offers nvidia.com/hostdev"));
    CHECK(does_nothing(one.step()));
    one.facts.offers["nvidia.com/hostdev"] = 1;
    one.settled();
    CHECK(one.status("reason").empty());
  }
}

TEST_CASE("ipam that is not JSON is an error with its position, and the definition stays as it was") {
  Case one;
  one.settled();
  const Json before = one.stored();
  set_at(one.network, {"spec", "ipam"}, "{\n  \"type\": \"whereabouts\",\n  \"range\": 192.168.1.0/24\n}");
  const Decision decision = one.step();
  CHECK(decision.changes.empty());
  REQUIRE(decision.events.size() == 1);
  CHECK(decision.events.front().reason == "InvalidSpec");
  one.apply(decision);
  CHECK(one.status("state") == "error");
  CHECK_THAT(one.status("reason"), Contains("spec.ipam: line 3, column "));
  CHECK_THAT(one.status("reason"), Contains("the NetworkAttachmentDefinition stays as it was"));
  CHECK_THAT(one.status("hostDeviceNetworkAttachmentDef"), Contains("/crater-workspace/"));
  CHECK(one.stored() == before);
  CHECK(does_nothing(one.step()));
}

TEST_CASE("what is wrong in a spec is named by its key") {
  const auto reason = [](const std::string& key, const char* value) {
    Case one;
    set_at(one.network, {"spec", key}, value);
    one.settled();
    CHECK(one.status("state") == "error");
    CHECK(one.definitions.empty());
    CHECK_THAT(one.status("reason"), !Contains("line 0"));
    CHECK_THAT(one.status("reason"), !Contains("stays as it was"));
    return one.status("reason");
  };
  CHECK_THAT(reason("networkNamespace", ""), Contains("spec.networkNamespace"));
  CHECK_THAT(reason("resourceName", "a/b"), Contains("spec.resourceName"));
  CHECK_THAT(reason("ipam", "[]"), Contains("spec.ipam (line 1): must be an object, got a list"));
  CHECK_THAT(reason("ipam", R"({"range":"10.0.0.0/8"})"),
             Contains("spec.ipam (line 1): type (line 1): missing"));
  CHECK_THAT(reason("metaPlugins", R"({"type":"rdma"}])"), Contains("spec.metaPlugins: line 1"));
  Case one;
  one.network.set("spec", Json());
  one.settled();
  CHECK_THAT(one.status("reason"), Contains("spec.networkNamespace: missing"));
}

TEST_CASE("without Multus nothing is created, and the reason is it") {
  Case one;
  one.facts.has_definitions = false;
  const Decision decision = one.step();
  CHECK(decision.changes.empty());
  one.apply(decision);
  CHECK(one.status("state") == "notReady");
  CHECK_THAT(one.status("reason"), Contains("install Multus"));
  one.facts.has_definitions = true;
  one.settled();
  CHECK(one.status("state") == "ready");
}

TEST_CASE("a namespace that is missing or goes away is waited for") {
  Case one;
  one.facts.namespaces.erase("crater-workspace");
  one.settled();
  CHECK(one.definitions.empty());
  CHECK(one.status("state") == "notReady");
  CHECK_THAT(one.status("reason"),
             Contains("the namespace crater-workspace (spec.networkNamespace) does not "));
  one.facts.namespaces["crater-workspace"] = NamespaceState::terminating;
  one.settled();
  CHECK(one.definitions.empty());
  CHECK_THAT(one.status("reason"), Contains("is being deleted"));
  one.facts.namespaces["crater-workspace"] = NamespaceState::active;
  one.settled();
  CHECK(one.definitions.size() == 1);
  CHECK(one.status("state") == "ready");
}

TEST_CASE("a definition of somebody else under the same name is not overwritten") {
  Case one;
  Json theirs = json(R"({"metadata":{"name":"hostdevice-net","namespace":"crater-workspace","uid":"x"},
                         "spec":{"config":"{}"}})");
  one.put(theirs);
  one.settled();
  CHECK(one.stored() == theirs);
  CHECK(one.status("state") == "notReady");
  CHECK_THAT(one.status("reason"), Contains("app.kubernetes.io/managed-by=vfrail"));
  CHECK(one.status("hostDeviceNetworkAttachmentDef").empty());
  SECTION("until it has the label by which it is ours") {
    one.edit({"metadata", "labels"}, json(R"({"app.kubernetes.io/managed-by":"vfrail"})"));
    one.settled();
    CHECK(one.status("state") == "ready");
  }
  SECTION("nor one of an object that had our name before") {
    one.edit({"metadata", "labels"}, json(R"({"app.kubernetes.io/managed-by":"vfrail"})"));
    one.edit({"metadata", "ownerReferences"},
             json(R"([{"kind":"HostDeviceNetwork","name":"hostdevice-net","uid":"u-0","controller":true}])"));
    CHECK(one.step().changes.empty());
    one.settled();
    CHECK_THAT(one.status("reason"),
               Contains("belongs to HostDeviceNetwork hostdevice-net with another uid"));
  }
}

TEST_CASE("a definition that is being deleted is waited for") {
  Case one;
  one.settled().edit({"metadata", "deletionTimestamp"}, "2026-11-27T00:00:00Z");
  one.edit({"spec", "config"}, "{}");
  const Decision decision = one.step();
  CHECK(decision.changes.empty());
  one.apply(decision);
  CHECK(one.status("state") == "notReady");
  one.definitions.clear();
  one.settled();
  CHECK(one.status("state") == "ready");
}

TEST_CASE("a network that is being deleted is left to garbage collection") {
  Case one;
  set_at(one.network, {"metadata", "deletionTimestamp"}, "2026-11-27T00:00:00Z");
  CHECK(does_nothing(one.step()));
}

TEST_CASE("a refused change is the reason, once") {
  Case one;
  one.settled();
  const auto status = status_of_failure(kHostDeviceKind, one.network, "denied by a webhook");
  REQUIRE(status);
  one.network.set("status", *status);
  CHECK(one.status("state") == "notReady");
  CHECK(one.status("reason") == "denied by a webhook");
  CHECK_THAT(one.status("hostDeviceNetworkAttachmentDef"), Contains("/crater-workspace/"));
  CHECK_FALSE(status_of_failure(kHostDeviceKind, one.network, "denied by a webhook"));
}

TEST_CASE("a status is written against the version of the network that was read") {
  CHECK(status_fields(kHostDeviceKind, seed_network(), Json::object().set("state", "ready")).text() ==
        R"({"apiVersion":"mellanox.com/v1alpha1","kind":"HostDeviceNetwork",)"
        R"("metadata":{"name":"hostdevice-net","resourceVersion":"10"},"status":{"state":"ready"}})");
}
