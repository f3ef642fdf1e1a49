// MacvlanNetworks and IPoIBNetworks; HostDeviceNetworks are in network_test.cpp. What is expected is what
// network-operator's templates make, run with Go's own text/template.
#include "plugin/documents/network.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

Document network_document(const std::string& kind, const std::string& spec) {
  auto documents = read_documents(
      "apiVersion: mellanox.com/v1alpha1\nkind: " + kind + "\nmetadata: {name: n}\nspec:" + spec, "f.yaml");
  if (!documents) FAIL(documents.error().text);
  return std::move(documents->front());
}

Result<std::string> render(const std::string& kind, const std::string& spec) {
  const Document document = network_document(kind, spec);
  const auto known = operator_network_kind(document);
  REQUIRE(known);
  CHECK(name_of(*known) == kind);
  return render_network(TRY(read_operator_network(document, *known)), "vfrail");
}

std::string made(const std::string& kind, const std::string& spec) {
  auto out = render(kind, spec);
  if (!out) FAIL(out.error().text);
  return *std::move(out);
}

std::string why_not(const std::string& kind, const std::string& spec) {
  const auto out = render(kind, spec);
  REQUIRE_FALSE(out);
  return out.error().text;
}

std::string definition_of(const std::string& config, const std::string& name_space = "default") {
  return "apiVersion: \"k8s.cni.cncf.io/v1\"\nkind: NetworkAttachmentDefinition\nmetadata:\n  name: n\n"
         "  namespace: " +
         name_space + "\nspec:\n  config: '{\n  \"cniVersion\":\"0.3.1\",\n  \"name\":\"n\",\n" + config;
}

constexpr const char* kMacvlan = "MacvlanNetwork";
constexpr const char* kIpoib = "IPoIBNetwork";

}  // namespace

TEST_CASE("a MacvlanNetwork becomes network-operator's definition, byte for byte, whatever --type is") {
  CHECK(made(kMacvlan,
             "\n  networkNamespace: train\n  master: ens1f0np0\n  mode: bridge\n  mtu: 1500\n"
             "  ipam: '{\"type\": \"static\"}'\n") ==
        definition_of("  \"type\":\"macvlan\",\"master\": \"ens1f0np0\",\"mode\" : \"bridge\",\"mtu\" : "
                      "1500,\"ipam\":{\"type\":\"static\"}\n}\n'\n",
                      "train"));
  CHECK(made(kMacvlan,
             "\n  master: ens1f0np0\n  metaPlugins: '{\"type\":\"rdma\"}, {\"type\":\"tuning\"}'\n") ==
        definition_of(
            "  \"plugins\": [\n    {\n  \"type\":\"macvlan\",\"master\": \"ens1f0np0\",\"ipam\":{}\n}\n  ,\n"
            "  {\"type\":\"rdma\"}, {\"type\":\"tuning\"}\n  ]\n}\n'\n"));
}

TEST_CASE("keys of a MacvlanNetwork that are not set, or 0, are not in its definition") {
  for (const char* spec : {" {}\n", "\n  master: \"\"\n  mode: \"\"\n  mtu: 0\n  networkNamespace: \"\"\n"})
    CHECK(made(kMacvlan, spec) == definition_of("  \"type\":\"macvlan\",\"ipam\":{}\n}\n'\n"));
}

TEST_CASE("an IPoIBNetwork becomes network-operator's definition, byte for byte, whatever --type is") {
  CHECK(made(kIpoib, "\n  master: ib0\n") ==
        definition_of("  \"type\":\"ipoib\",\n  \"master\": \"ib0\",\n  \"ipam\":{}\n}'\n"));
}

TEST_CASE("ipam of both is without white space, as network-operator stores it") {
  const std::string spec =
      "\n  master: ib0\n  ipam: |\n    {\n      \"type\": \"whereabouts\",\n      \"range\": "
      "\"10.1.0.0/24\"\n    }\n";
  for (const char* kind : {kMacvlan, kIpoib}) {
    CHECK(made(kind, spec).find("\"ipam\":{\"type\":\"whereabouts\",\"range\":\"10.1.0.0/24\"}\n}") !=
          std::string::npos);
  }
}

TEST_CASE("what is wrong in a MacvlanNetwork or IPoIBNetwork is named with key and line") {
  CHECK(why_not(kMacvlan, "\n  mode: brigde\n") ==
        "spec.mode (line 5): must be one of bridge, private, vepa, passthru, got \"brigde\"; did you mean "
        "\"bridge\"?");
  CHECK(why_not(kMacvlan, "\n  mtu: -1\n").find("spec.mtu (line 5): ") == 0);
  CHECK(why_not(kMacvlan, "\n  master: 'eth0\", \"type\": \"x'\n")
            .find("spec.master (line 5): \"eth0\", \"type\": \"x\" is not the name of an interface") == 0);
  CHECK(why_not(kMacvlan, "\n  ipam: '{\"type\": }'\n").find("spec.ipam: line 5") == 0);
  CHECK(why_not(kMacvlan, "\n  metaPlugins: '5'\n").find("spec.metaPlugins (line 5): must be objects") == 0);
  CHECK(why_not(kMacvlan, "\n  ipam: |\n    {\"type\": \"static\", \"note\": \"it's\"}\n")
            .find("a ' ends the text that network-operator makes of it") != std::string::npos);
  CHECK(why_not(kMacvlan, "\n  resourceName: hostdev\n") == "spec.resourceName (line 5): unknown key");
  CHECK(why_not(kIpoib, " {}\n").find("spec.master (line 4): missing; it names the IPoIB interface") == 0);
  CHECK(why_not(kIpoib, "\n  master: ib0\n  mode: bridge\n") == "spec.mode (line 6): unknown key");
}

TEST_CASE("both are networks to check-config, without a resource") {
  const Network net = read_network(network_document(kMacvlan, "\n  networkNamespace: train\n"), "x");
  CHECK(net.faults.empty());
  CHECK(net.name == "train/n");
  CHECK(net.resource.empty());
  CHECK(net.types == std::vector<std::string>{"macvlan"});
  const Document wrong = network_document(kIpoib, " {}\n");
  CHECK(is_network(wrong));
  CHECK(read_network(wrong, "x").faults.size() == 1);
  CHECK(read_network(wrong, "x").types == std::vector<std::string>{"ipoib"});
}
