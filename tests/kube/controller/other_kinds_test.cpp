// MacvlanNetworks and IPoIBNetworks: in what the controller treats them otherwise than HostDeviceNetworks.
#include "plugin/kube/controller/watched_objects.h"
#include "tests/kube/controller/cases.h"

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;
using Catch::Contains;

namespace {

// As `kubectl apply` sends it, by the name that cases.h has.
Json network_of_kind(const std::string& kind, const char* spec) {
  Json out = json(R"({"apiVersion":"mellanox.com/v1alpha1","metadata":{
      "name":"hostdevice-net","uid":"u-2","resourceVersion":"10","generation":1}})");
  out.set("kind", kind);
  out.set("spec", json(spec));
  return out;
}

Case macvlan(const char* spec = R"({"master":"ens1f0np0","mode":"bridge","mtu":1500,
                                    "ipam":"{\"type\": \"static\"}"})") {
  Case one;
  one.kind = &kMacvlanKind;
  one.network = network_of_kind("MacvlanNetwork", spec);
  return one;
}

Case ipoib() {
  Case one;
  one.kind = &kIpoibKind;
  one.network = network_of_kind("IPoIBNetwork", R"({"networkNamespace":"crater-workspace","master":"ib0"})");
  return one;
}

// metadata.managedFields as the API server has it when we have written the status by server-side apply, and
// when an operator has written it since.
constexpr const char* kOursLast = R"([{"manager":"vfrail","operation":"Apply","subresource":"status",
    "fieldsV1":{"f:status":{"f:macvlanNetworkAttachmentDef":{},"f:reason":{},"f:state":{}}}}])";
constexpr const char* kOperatorLast = R"([{"manager":"vfrail","operation":"Apply","subresource":"status",
    "fieldsV1":{"f:status":{"f:macvlanNetworkAttachmentDef":{},"f:state":{}}}},
   {"manager":"kubectl","operation":"Update","fieldsV1":{"f:spec":{"f:master":{}}}},
   {"manager":"manager","operation":"Update","subresource":"status","fieldsV1":{"f:status":{".":{}}}}])";

void set_managers(Case& one, const char* managers) {
  set_at(one.network, {"metadata", "managedFields"}, json(managers));
  one.network = keep_of_network_with_managers(Json(one.network));
}

}  // namespace

TEST_CASE(
    "a MacvlanNetwork becomes network-operator's definition in the namespace default, without a resource") {
  const Decision decision = macvlan().step();
  REQUIRE(decision.changes.size() == 1);
  const DefinitionChange& change = decision.changes.front();
  CHECK(change.definition.text() == "default/hostdevice-net");
  CHECK(text_at(change.fields, {"spec", "config"}) ==
        R"({ "cniVersion":"0.3.1", "name":"hostdevice-net", "type":"macvlan","master": "ens1f0np0",)"
        R"("mode" : "bridge","mtu" : 1500,"ipam":{"type":"static"} } )");
  CHECK(change.fields.find("metadata")->text() ==
        R"({"name":"hostdevice-net","namespace":"default",)"
        R"("labels":{"app.kubernetes.io/managed-by":"vfrail"},)"
        R"("ownerReferences":[{"apiVersion":"mellanox.com/v1alpha1","kind":"MacvlanNetwork",)"
        R"("name":"hostdevice-net","uid":"u-2","controller":true,"blockOwnerDeletion":true}]})");
}

TEST_CASE("a MacvlanNetwork is ready when its definition is stored, whatever nodes offer") {
  Case one = macvlan();
  one.facts.offers.clear();
  one.settled();
  CHECK(one.network.find("status")->text() ==
        R"({"state":"ready","reason":"","macvlanNetworkAttachmentDef":)"
        R"("k8s.cni.cncf.io/v1/namespaces/default/NetworkAttachmentDefinition/hostdevice-net"})");
  CHECK(does_nothing(one.step()));
}

TEST_CASE("an IPoIBNetwork becomes network-operator's definition, and is ready") {
  Case one = ipoib();
  one.settled();
  CHECK(text_at(one.stored(), {"spec", "config"}) ==
        R"({ "cniVersion":"0.3.1", "name":"hostdevice-net", "type":"ipoib", "master": "ib0", "ipam":{} })");
  CHECK(one.status("state") == "ready");
  CHECK(one.status("ipoibNetworkAttachmentDef") ==
        "k8s.cni.cncf.io/v1/namespaces/crater-workspace/NetworkAttachmentDefinition/hostdevice-net");
  CHECK(does_nothing(one.step()));
}

TEST_CASE("a resource that a user has given the definition of a MacvlanNetwork stays") {
  Case one = macvlan();
  one.settled();
  Json shared = one.stored("default");
  set_at(shared, {"metadata", "annotations"}, json(R"({"k8s.v1.cni.cncf.io/resourceName":"rdma/hca"})"));
  one.put(shared);
  CHECK(does_nothing(one.step()));
}

TEST_CASE("a MacvlanNetwork is changed, put back, moved and refused as a HostDeviceNetwork is") {
  Case one = macvlan();
  one.settled();
  SECTION("changed") {
    set_at(one.network, {"spec", "mode"}, "private");
    one.settled();
    CHECK_THAT(text_at(one.stored("default"), {"spec", "config"}), Contains(R"("mode" : "private")"));
  }
  SECTION("put back") {
    const Json before = one.stored("default");
    Json edited = before;
    set_at(edited, {"spec", "config"}, "{}");
    one.put(edited);
    const Decision decision = one.step();
    REQUIRE(decision.changes.size() == 1);
    CHECK(decision.changes.front().kind == DefinitionChange::Kind::apply);
    one.apply(decision);
    CHECK(*one.stored("default").find("spec") == *before.find("spec"));
  }
  SECTION("moved") {
    set_at(one.network, {"spec", "networkNamespace"}, "crater-workspace");
    one.settled();
    CHECK(one.definitions.size() == 1);
    CHECK_THAT(one.status("macvlanNetworkAttachmentDef"), Contains("/crater-workspace/"));
  }
  SECTION("refused") {
    set_at(one.network, {"spec", "ipam"}, "{\"type\": static}");
    one.settled();
    CHECK(one.status("state") == "error");
    CHECK_THAT(one.status("reason"), Contains("spec.ipam: line 1, column 10") && Contains("stays as it was"));
    const auto failed = status_of_failure(kMacvlanKind, one.network, "denied");
    REQUIRE(failed);
    CHECK_THAT(text_at(*failed, {"macvlanNetworkAttachmentDef"}), Contains("/namespaces/default/"));
  }
}

// By k8s-launch-kit's templates of its profiles host-device-rdma, macvlan-rdma-shared and ipoib-rdma-shared,
// with several rails and source routing; for IPoIB without, since the operator's CRD has no metaPlugins
// there.
TEST_CASE("the networks that l8k generate writes for rails are served") {
  const std::string pool = "{\n  \"type\": \"nv-ipam\",\n  \"poolName\": \"rails-rail-0\"\n}  \n";
  const std::string meta_plugins =
      "{\n  \"type\": \"tuning\",\n  \"sysctl\": {\"net.ipv4.conf.IFNAME.arp_ignore\": \"1\"}\n},\n{\n"
      "  \"type\": \"sbr\"\n}\n";
  const auto plugins = [](Case one) {
    one.facts.offers = {{"nvidia.com/hostdev_rail_0", 2}};
    one.settled();
    CHECK(one.status("state") == "ready");
    CHECK(one.status("reason").empty());
    const Json config = json(text_at(one.stored("default"), {"spec", "config"}));
    const Json* list = config.find("plugins");
    std::string out;
    for (const Json& plugin : list == nullptr ? Json::Array{config} : *list->as_array())
      out += text_at(plugin, {"type"}) + " ";
    return out;
  };
  Case host_device;
  host_device.network.set("spec", json(R"({"networkNamespace":"default","resourceName":"hostdev_rail_0"})"));
  Case flat = macvlan(R"({"networkNamespace":"default","master":"ens1f0np0","mode":"bridge","mtu":0})");
  for (Case* one : {&host_device, &flat}) {
    set_at(one->network, {"spec", "ipam"}, pool);
    set_at(one->network, {"spec", "metaPlugins"}, meta_plugins);
  }
  CHECK(plugins(host_device) == "vfrail tuning sbr ");
  CHECK(plugins(flat) == "macvlan tuning sbr ");
  Case ib = ipoib();
  ib.network.set("spec", json(R"({"networkNamespace":"default","master":"ibs3f1"})"));
  set_at(ib.network, {"spec", "ipam"}, pool);
  CHECK(plugins(ib) == "ipoib ");
}

TEST_CASE("an IPoIBNetwork without a master is an error, for the CNI plugin ipoib has no default") {
  Case one = ipoib();
  set_at(one.network, {"spec"}, Json::object());
  one.settled();
  CHECK(one.status("state") == "error");
  CHECK_THAT(one.status("reason"), Contains("spec.master: missing"));
}

TEST_CASE(
    "of two networks of different kinds with one name the first has the definition, until it is deleted") {
  Case host_device;
  set_at(host_device.network, {"spec", "networkNamespace"}, "default");
  host_device.settled();
  Case one = macvlan();
  one.definitions = host_device.definitions;
  const Decision decision = one.step();
  CHECK(decision.changes.empty());
  one.apply(decision);
  CHECK(one.status("state") == "notReady");
  CHECK_THAT(one.status("reason"),
             Contains("belongs to HostDeviceNetwork hostdevice-net: remove it, or give this object another "
                      "name or namespace"));
  CHECK(one.status("macvlanNetworkAttachmentDef").empty());
  one.definitions.clear();
  one.settled();
  CHECK(one.status("state") == "ready");
}

TEST_CASE("a definition of network-operator is left alone, whatever its kind") {
  Case one = macvlan();
  one.settled();
  Json theirs = one.stored("default");
  set_at(theirs, {"metadata", "labels"},
         json(R"({"nvidia.network-operator.state":"state-Macvlan-Network"})"));
  set_at(theirs, {"spec", "config"}, "{}");
  one.put(theirs);
  one.network.set("status", json(R"({"state":"notReady"})"));
  const Decision decision = one.step();
  CHECK(decision.changes.empty());
  CHECK_FALSE(decision.status);
  REQUIRE(decision.events.size() == 1);
  CHECK(decision.events.front().reason == "ManagedByOperator");
}

TEST_CASE(
    "a status that network-operator has written without a definition is waited for, by who has its fields") {
  Case one = macvlan();
  one.network.set("status", json(R"({"state":"notReady"})"));
  set_managers(one, kOperatorLast);
  const Decision decision = one.step();
  CHECK(does_nothing(decision));
  CHECK(decision.again_at == one.now + kOperatorPatience);
  one.now += kOperatorPatience;
  CHECK(one.step().changes.size() == 1);
}

TEST_CASE(
    "a status that we have written last is ours, also when others share its fields or nobody is recorded") {
  const std::string others = R"({"manager":"manager","fieldsV1":{"f:status":{"f:state":{}}}})";
  const std::string ours = kOursLast;
  for (const std::string& managers : {ours, "[" + others + "," + ours.substr(1), std::string("[]")}) {
    Case one = macvlan();
    one.network.set("status", json(R"({"state":"ready","reason":"","macvlanNetworkAttachmentDef":""})"));
    set_managers(one, managers.c_str());
    const Decision decision = one.step();
    CHECK(decision.changes.size() == 1);
    CHECK_FALSE(decision.again_at);
  }
}

TEST_CASE("of the managers of a network's fields those of the status are kept, and nothing else of them") {
  Case one = macvlan();
  set_managers(one, kOperatorLast);
  CHECK(plugin::find_below(one.network, "metadata.managedFields")->text() ==
        R"([{"manager":"vfrail","fieldsV1":{"f:status":{"f:macvlanNetworkAttachmentDef":{},"f:state":{}}}},)"
        R"({"manager":"manager","fieldsV1":{"f:status":{".":{}}}}])");
}
