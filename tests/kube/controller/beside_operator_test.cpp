// The controller where network-operator is, comes or goes.
#include "tests/kube/controller/cases.h"

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;
using Catch::Contains;

namespace {

Json operators_definition(const char* name_space = "crater-workspace") {
  Json out = json(R"({"apiVersion":"k8s.cni.cncf.io/v1","kind":"NetworkAttachmentDefinition","metadata":{
      "name":"hostdevice-net","uid":"n-1","resourceVersion":"30",
      "labels":{"nvidia.network-operator.state":"state-host-device-network"},
      "annotations":{"nvidia.network-operator.revision":"2906785391",
                     "k8s.v1.cni.cncf.io/resourceName":"nvidia.com/hostdev"},
      "ownerReferences":[{"apiVersion":"mellanox.com/v1alpha1","kind":"HostDeviceNetwork",
                          "name":"hostdevice-net","uid":"u-1","controller":true,"blockOwnerDeletion":true}]},
      "spec":{"config":"{\"cniVersion\":\"0.3.1\",\"type\":\"host-device\"}"}})");
  set_at(out, {"metadata", "namespace"}, name_space);
  return out;
}

// What it writes keeps what is in the status already.
void operator_writes_status(Case& one, const char* state) {
  const Json* before = plugin::find_below(one.network, "status.appliedStates");
  Json states = before == nullptr ? Json::array() : *before;
  states.push(json(std::string(R"({"name":"state-host-device-network","state":")") + state + "\"}"));
  set_at(one.network, {"status", "state"}, state);
  set_at(one.network, {"status", "appliedStates"}, states);
}

Case with_operator() {
  Case one;
  one.put(operators_definition());
  operator_writes_status(one, "ready");
  return one;
}

void remove_marks(Case& one) {
  one.edit({"metadata", "labels"}, Json::object());
  one.edit({"metadata", "annotations"}, json(R"({"k8s.v1.cni.cncf.io/resourceName":"nvidia.com/hostdev"})"));
}

}  // namespace

TEST_CASE("an object that network-operator manages is not changed, and one event reports it") {
  Case one = with_operator();
  const Decision decision = one.step();
  CHECK(decision.changes.empty());
  CHECK_FALSE(decision.status);
  REQUIRE(decision.events.size() == 1);
  CHECK(decision.events.front().type == EventType::normal);
  CHECK(decision.events.front().reason == "ManagedByOperator");
  CHECK_THAT(decision.events.front().note, Contains("is managed by network-operator"));
  one.now += std::chrono::hours(24);
  CHECK(does_nothing(one.step()));
}

TEST_CASE(
    "either mark of network-operator is enough, and a wrong spec or a missing namespace is its affair") {
  Case one = with_operator();
  SECTION("the label") { one.edit({"metadata", "annotations"}, Json::object()); }
  SECTION("the annotation") { one.edit({"metadata", "labels"}, Json::object()); }
  SECTION("a wrong spec") { set_at(one.network, {"spec", "ipam"}, "{"); }
  SECTION("no namespace") { one.facts.namespaces.clear(); }
  SECTION("before its first status") { one.network.set("status", Json()); }
  const Decision decision = one.step();
  CHECK(decision.changes.empty());
  CHECK_FALSE(decision.status);
}

TEST_CASE("when network-operator comes, what it has written over ours is its own") {
  Case one;
  one.settled();
  one.put(operators_definition());
  const Decision decision = one.step();
  CHECK(decision.changes.empty());
  CHECK_FALSE(decision.status);
  CHECK(decision.events.size() == 1);
  operator_writes_status(one, "ready");
  CHECK(does_nothing(one.step()));
}

TEST_CASE("network-operator's status without its definition is waited for, since it may be at work") {
  Case one;
  operator_writes_status(one, "notReady");
  const Decision decision = one.step();
  CHECK(does_nothing(decision));
  CHECK(decision.again_at == one.now + kOperatorPatience);
  one.now += kOperatorPatience / 2;
  set_at(one.network, {"metadata", "generation"}, 2);
  CHECK(one.step().again_at == one.now + kOperatorPatience);
  one.put(operators_definition());
  one.now += kOperatorPatience * 2;
  CHECK(one.step().changes.empty());
}

TEST_CASE("when network-operator has left and its marks are removed, the definition becomes ours") {
  Case one = with_operator();
  one.step();
  remove_marks(one);
  CHECK(does_nothing(one.step()));
  one.now += kOperatorPatience;
  const Decision decision = one.step();
  REQUIRE(decision.changes.size() == 1);
  CHECK(decision.changes.front().kind == DefinitionChange::Kind::apply);
  CHECK_THAT(text_at(decision.changes.front().fields, {"spec", "config"}), Contains("\"type\":\"vfrail\""));
  REQUIRE(decision.status);
  CHECK(decision.status->find("appliedStates")->text() ==
        R"([{"name":"vfrail-host-device-network","state":"ready"}])");
  one.apply(decision);
  CHECK(does_nothing(one.step()));
}

TEST_CASE("when network-operator has left and its definition is removed, ours is created") {
  Case one = with_operator();
  one.step();
  one.definitions.clear();
  CHECK(does_nothing(one.step()));
  one.now += kOperatorPatience;
  const Decision decision = one.step();
  REQUIRE(decision.changes.size() == 1);
  CHECK(decision.changes.front().kind == DefinitionChange::Kind::create);
}

TEST_CASE("a take-over that did not succeed is tried again without another wait") {
  Case one = with_operator();
  remove_marks(one);
  one.step();
  one.now += kOperatorPatience;
  CHECK(one.step().changes.size() == 1);
  CHECK(one.step().changes.size() == 1);
}

TEST_CASE("network-operator that writes after a take-over is waited for again") {
  Case one = with_operator();
  remove_marks(one);
  one.step();
  one.now += kOperatorPatience;
  one.settled();
  CHECK(does_nothing(one.step()));
  operator_writes_status(one, "notReady");
  CHECK(does_nothing(one.step()));
}

TEST_CASE("a definition that network-operator has left in another namespace is not removed") {
  Case one;
  one.put(operators_definition("default"));
  const Decision decision = one.step();
  REQUIRE(decision.changes.size() == 1);
  CHECK(decision.changes.front().kind == DefinitionChange::Kind::create);
  one.apply(decision);
  CHECK(does_nothing(one.step()));
}
