#include "plugin/kube/controller/watched_objects.h"

#include "plugin/kube/controller/network_definition.h"
#include "tests/kube/controller/cases.h"

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;

namespace {

void add(ObjectWatch::Objects& objects, Json object) {
  const ObjectName name = name_of(object);
  objects[name] = std::make_shared<const Json>(std::move(object));
}

Json node(const std::string& name, const std::string& quantity) {
  return json(
      R"({"metadata":{"name":")" + name +
      R"(","resourceVersion":"1","labels":{"a":"b"}},"status":{"capacity":{"nvidia.com/hostdev":"9"},)"
      R"("allocatable":{"cpu":"8","nvidia.com/hostdev":)" +
      quantity + R"(},"images":["a","b"]}})");
}

}  // namespace

TEST_CASE("of a node its name and its devices are kept, so that a heartbeat is no change") {
  CHECK(keep_of_node(node("node-1", "\"2\"")).text() ==
        R"({"metadata":{"name":"node-1"},"status":{"allocatable":{"nvidia.com/hostdev":"2"}}})");
}

TEST_CASE("nodes that have some of a resource are counted") {
  WatchedObjects watched;
  add(watched.nodes, keep_of_node(node("node-1", "\"2\"")));
  add(watched.nodes, keep_of_node(node("node-2", "\"0\"")));
  add(watched.nodes, keep_of_node(node("node-3", "\"1k\"")));
  add(watched.nodes, keep_of_node(json(R"({"metadata":{"name":"node-4"}})")));
  CHECK(read_facts(watched).offers == std::map<std::string, size_t>{{"nvidia.com/hostdev", 2}});
}

TEST_CASE("a namespace that is being deleted is none for what is new") {
  WatchedObjects watched;
  add(watched.namespaces,
      keep_of_namespace(json(R"({"metadata":{"name":"a"},"status":{"phase":"Active"}})")));
  add(watched.namespaces,
      keep_of_namespace(json(R"({"metadata":{"name":"b"},"status":{"phase":"Terminating"}})")));
  add(watched.namespaces,
      keep_of_namespace(json(R"({"metadata":{"name":"c","deletionTimestamp":"2026-11-27T00:00:00Z"}})")));
  const ControllerFacts facts = read_facts(watched);
  CHECK(facts.namespaces == std::map<std::string, NamespaceState>{{"a", NamespaceState::active},
                                                                  {"b", NamespaceState::terminating},
                                                                  {"c", NamespaceState::terminating}});
}

TEST_CASE("of a network nothing is kept twice, and all that is acted upon") {
  CHECK(keep_of_network(json(R"({"apiVersion":"mellanox.com/v1alpha1","kind":"HostDeviceNetwork","metadata":{
            "name":"a","uid":"u","resourceVersion":"7","generation":2,"annotations":{"last-applied":"{}"},
            "managedFields":[{"manager":"kubectl"}]},"spec":{"resourceName":"hostdev"},
            "status":{"state":"ready"}})"))
            .text() == R"({"metadata":{"name":"a","uid":"u","resourceVersion":"7","generation":2},)"
                       R"("spec":{"resourceName":"hostdev"},"status":{"state":"ready"}})");
  Case one;
  one.settled();
  one.network = keep_of_network(Json(one.network));
  CHECK(does_nothing(one.step()));
}

TEST_CASE("an object is unpacked as it was packed") {
  const Json network = seed_network();
  CHECK(packed(network).as_text() != nullptr);
  CHECK(unpacked(packed(network)) == network);
  CHECK(unpacked(Json()).as_object() != nullptr);
}

TEST_CASE(
    "of packed definitions a network finds the one of its name and those that it owns, as of all of them") {
  const auto definition = [](const std::string& name, const std::string& owner) {
    return json(R"({"metadata":{"namespace":"crater-workspace","name":")" + name +
                R"(","ownerReferences":[{"uid":")" + owner + R"(","controller":true}]}})");
  };
  ObjectWatch::Objects whole;
  ObjectWatch::Objects texts;
  for (const Json& one : {definition("hostdevice-net", "u-7"), definition("old", "u-1"),
                          definition("older", "u-1"), definition("other", "u-2")}) {
    add(whole, one);
    texts[name_of(one)] = std::make_shared<const Json>(packed(one));
  }
  const Json network = seed_network();
  const DefinitionIndex index(texts);
  const auto candidates = index.find(definition_name(kHostDeviceKind, network), uid_of(network));
  const auto names = [&](const ObjectWatch::Objects& objects) {
    std::vector<std::string> out;
    for (const Json* one : concerning(objects, kHostDeviceKind, network)) out.push_back(name_of(*one).name);
    return out;
  };
  CHECK(names(candidates) == std::vector<std::string>{"hostdevice-net", "old", "older"});
  CHECK(names(candidates) == names(whole));
  CHECK(DefinitionIndex({}).find({"a", "b"}, "u-1").empty());
}

TEST_CASE("of a definition all is kept that is compared") {
  Case one;
  one.settled();
  one.put(keep_of_definition(Json(one.stored())));
  CHECK(does_nothing(one.step()));
}
