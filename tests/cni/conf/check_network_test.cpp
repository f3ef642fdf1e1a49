// cni/conf/check_network.h: what ADD would refuse or ignore is found before a pod needs it.
#include "cni/conf/check_network.h"

#include "common/json.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

using Catch::Contains;

NetworkReport checked(const std::string& text, const std::set<std::string>& types = {"vfrail"}) {
  const auto out = check_networks(text, types);
  REQUIRE(out);
  return *out;
}

std::string definition(const std::string& config, bool resource = true) {
  Json metadata = Json::object();
  metadata.set("namespace", "team").set("name", "rail0");
  if (resource)
    metadata.set("annotations", Json::object().set("k8s.v1.cni.cncf.io/resourceName", "rdma/hca"));
  Json out;
  out.set("kind", "NetworkAttachmentDefinition").set("metadata", metadata);
  out.set("spec", Json::object().set("config", config));
  return out.text();
}

}  // namespace

TEST_CASE("a definition that ADD accepts is well, in a list of plugins too") {
  for (const char* config :
       {R"({"cniVersion":"1.0.0","type":"vfrail","mtu":9000,"ipam":{"type":"whereabouts"}})",
        R"({"cniVersion":"1.0.0","name":"r","plugins":[{"type":"vfrail"},{"type":"tuning","mtuu":1}]})"}) {
    const auto report = checked(definition(config));
    CHECK(report.all_well);
    CHECK_THAT(report.text, Contains("team/rail0") && Contains("no error found"));
  }
}

TEST_CASE("what ADD refuses and what it ignores is named, with the definition and the key") {
  const auto refused = checked(definition(R"({"type":"vfrail","vlan":5000})"));
  CHECK_FALSE(refused.all_well);
  CHECK_THAT(refused.text, Contains("team/rail0: error: vlan: must be 0 to 4094, got 5000 [VF-"));
  const auto ignored = checked(definition(R"({"plugins":[{"type":"vfrail","mtuu":9000}]})"));
  CHECK_FALSE(ignored.all_well);
  CHECK_THAT(ignored.text,
             Contains("team/rail0, plugins[0]: warning: \"mtuu\"") && Contains("\"mtu\" is probably meant"));
  CHECK_THAT(checked(definition(R"({"type":"vfrail","logLevel":"loud"})")).text,
             Contains("team/rail0: warning: logLevel: info is used, because it must be one of "));
  CHECK_THAT(checked(definition("{")).text, Contains("team/rail0: error: spec.config: "));
  const auto deviceless = checked(definition(R"({"type":"vfrail"})", false)).text;
  CHECK_THAT(deviceless, Contains("no device") && Contains("k8s.v1.cni.cncf.io/resourceName"));
  CHECK_THAT(deviceless, !Contains("no error found"));  // ADD refuses it
  CHECK_THAT(checked(definition(R"({"plugins":{}})")).text,
             Contains("plugins: must be a list [VF-NETWORK-CONFIG]"));
}

TEST_CASE("a cniVersion that ADD refuses is an error, which names the supported ones and guesses none") {
  for (const char* config : {R"({"cniVersion":"1.2.0","type":"vfrail"})",
                             R"({"cniVersion":"1.2.0","plugins":[{"type":"vfrail"}]})"}) {
    const auto report = checked(definition(config));
    CHECK_FALSE(report.all_well);
    CHECK_THAT(report.text,
               Contains("error: cniVersion 1.2.0 is not supported; supported are 0.1.0, 0.2.0, ") &&
                   Contains(" and 1.1.0 [VF-CNI-VERSION]\n") && !Contains("did you mean"));
  }
  CHECK(checked(definition(R"({"cniVersion":"","type":"vfrail"})")).all_well);
  CHECK(checked(definition(R"({"cniVersion":"0.1.0","type":"vfrail"})")).all_well);
}

TEST_CASE("plugins of another type are checked if they are asked for") {
  const std::string sriov = definition(R"({"type":"sriov","vlan":5000})");
  CHECK(checked(sriov).all_well);
  CHECK_THAT(checked(sriov).text, Contains("not checked, it is of type sriov"));
  CHECK_FALSE(checked(sriov, {"vfrail", "sriov"}).all_well);
}

TEST_CASE("each definition of a list is checked, and a file of /etc/cni/net.d") {
  const std::string list = R"({"kind":"List","items":[)" + definition(R"({"type":"vfrail"})") + "," +
                           definition(R"({"type":"vfrail","mtu":1})") + R"(,{"kind":"Pod"}]})";
  const auto report = checked(list);
  CHECK_FALSE(report.all_well);
  CHECK_THAT(report.text, Contains("no error found") && Contains("mtu: must be at least 68"));
  CHECK(checked(R"({"cniVersion":"1.0.0","name":"r","type":"vfrail","deviceID":"0000:03:02.1"})").all_well);
  CHECK_THAT(checked(R"({"items":[]})").text, Contains("there is no NetworkAttachmentDefinition"));
}

TEST_CASE("what is neither JSON nor a network is an error that names what it must be") {
  for (const char* text : {"apiVersion: v1\n", "", "[]", R"({"kind":"Pod"})", "null"}) {
    CAPTURE(text);
    const auto report = check_networks(text, {"vfrail"});
    REQUIRE_FALSE(report);
    CHECK_THAT(report.error().text, Contains("JSON") || Contains("NetworkAttachmentDefinition"));
  }
  CHECK_THAT(checked(R"({"kind":"NetworkAttachmentDefinition","metadata":[],"spec":3})").text,
             Contains("(without a name): it has no spec.config"));
}

}  // namespace vfrail
