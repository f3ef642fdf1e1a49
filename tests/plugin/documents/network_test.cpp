#include "plugin/documents/network.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

Document document(const std::string& text) {
  auto documents = read_documents(text, "f.yaml");
  if (!documents) FAIL(documents.error().text);
  REQUIRE(documents->size() == 1);
  return std::move(documents->front());
}

std::string host_device(const std::string& spec) {
  return "apiVersion: mellanox.com/v1alpha1\nkind: HostDeviceNetwork\nmetadata:\n  name: "
         "hostdevice-net\nspec:\n" +
         spec;
}

std::string rendered(const std::string& text, const std::string& type = "host-device") {
  const auto network = read_operator_network(document(text), OperatorNetworkKind::host_device);
  if (!network) FAIL(network.error().text);
  auto out = render_network(*network, type);
  if (!out) FAIL(out.error().text);
  return *std::move(out);
}

std::string error_of(const std::string& text, const std::string& type = "host-device") {
  const auto network = read_operator_network(document(text), OperatorNetworkKind::host_device);
  if (!network) return network.error().text;
  const auto out = render_network(*network, type);
  REQUIRE_FALSE(out);
  return out.error().text;
}

Network network_of(const Document& one) { return read_network(one, "openshift.io"); }

// What the API server stores as spec.config.
std::string stored(const std::string& manifest) {
  return *find_below(document(manifest).value, "spec.config")->as_text();
}

std::string fault(const std::string& text) {
  const Network network = network_of(document(text));
  REQUIRE(network.faults.size() == 1);
  return network.faults.front();
}

std::string definition(const std::string& config, const std::string& annotation = "nvidia.com/hostdev") {
  return "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata:\n  name: n\n  "
         "annotations:\n"
         "    k8s.v1.cni.cncf.io/resourceName: " +
         annotation + "\nspec:\n  config: |\n    " + config + "\n";
}

// The network of the people who wrote about their InfiniBand cluster.
constexpr const char* kSpec = R"(  networkNamespace: "crater-workspace"
  resourceName: "hostdev"
  ipam: |
    {
      "type": "whereabouts",
      "datastore": "kubernetes",
      "kubernetes": {
        "kubeconfig": "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"
      },
      "range": "192.168.100.152/27",
      "exclude": ["192.168.100.151/32"],
      "log_file": "/var/log/whereabouts.log",
      "log_level": "info"
    }
)";
const std::string kIpam =
    R"({ "type": "whereabouts", "datastore": "kubernetes", "kubernetes": { "kubeconfig": "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig" }, "range": "192.168.100.152/27", "exclude": ["192.168.100.151/32"], "log_file": "/var/log/whereabouts.log", "log_level": "info" })";

std::string sriov(const std::string& spec, const char* kind = "SriovNetwork") {
  return std::string("apiVersion: sriovnetwork.openshift.io/v1\nkind: ") + kind +
         "\nmetadata: {name: net, namespace: sriov-network-operator}\nspec:\n" + spec;
}

}  // namespace

TEST_CASE("the networks of sriov-network-operator are read, with the resource that its policy makes") {
  const Network net = read_network(
      document(sriov(
          "  resourceName: dpdk\n  networkNamespace: ml\n  vlan: 0\n  vlanQoS: 0\n  linkState: auto\n"
          "  ipam: '{\"type\": \"static\"}'\n  metaPlugins: '{\"type\": \"tuning\"}, {\"type\": \"rdma\"}'\n"
          "  capabilities: '{\"mac\": true}'\n  spoofChk: \"off\"\n  maxTxRate: 100\n")),
      "openshift.io");
  CHECK(net.faults.empty());
  CHECK(net.name == "ml/net");
  CHECK(net.resource == "openshift.io/dpdk");
  CHECK(net.types == std::vector<std::string>{"sriov", "tuning", "rdma"});
  const Network ib = read_network(
      document(sriov("  resourceName: ib\n  linkState: enable\n", "SriovIBNetwork")), "nvidia.com");
  CHECK(ib.faults.empty());
  CHECK(ib.name == "sriov-network-operator/net");
  CHECK(ib.resource == "nvidia.com/ib");
  CHECK(ib.types == std::vector<std::string>{"ib-sriov"});
}

TEST_CASE("what is wrong in a network of sriov-network-operator is named with its line") {
  CHECK(fault(sriov("  vlan: 5\n")).find("spec.resourceName") != std::string::npos);
  CHECK(fault(sriov("  resourceName: a\n  vlan: 4095\n")).find("spec.vlan (line 6): must be 0 to 4094") !=
        std::string::npos);
  CHECK(fault(sriov("  resourceName: a\n  trust: yes\n")).find("spec.trust") != std::string::npos);
  CHECK(fault(sriov("  resourceName: a\n  ipam: '{'\n")).find("spec.ipam") != std::string::npos);
  CHECK(fault(sriov("  resourceName: a\n  vlan: 1\n", "SriovIBNetwork"))
            .find("spec.vlan (line 6): unknown key") != std::string::npos);
  CHECK(fault(sriov("  resourceName: a\n  metaPlugins: '{}'\n")).find("spec.metaPlugins") !=
        std::string::npos);
}

TEST_CASE("a HostDeviceNetwork becomes what network-operator stores, byte for byte") {
  const std::string manifest = rendered(host_device(kSpec));
  CHECK(stored(manifest) ==
        R"({ "cniVersion":"0.3.1", "name":"hostdevice-net", "type":"host-device", "ipam":)" + kIpam + "\n} ");
  const Document made = document(manifest);
  CHECK(made.where == "f.yaml: document 1 (NetworkAttachmentDefinition crater-workspace/hostdevice-net)");
  CHECK(made.value.find("metadata")->find("annotations")->text() ==
        R"({"k8s.v1.cni.cncf.io/resourceName":"nvidia.com/hostdev"})");
}

TEST_CASE("metaPlugins become a list of plugins, as network-operator stores it") {
  CHECK(stored(rendered(host_device(kSpec + std::string("  metaPlugins: '{\"type\":\"rdma\"}'\n")))) ==
        R"({ "cniVersion":"0.3.1", "name":"hostdevice-net", "plugins": [ { "type":"host-device", "ipam":)" +
            kIpam + "\n} , {\"type\":\"rdma\"} ] } ");
}

TEST_CASE("without ipam it is empty, and a resource keeps its prefix") {
  const std::string manifest =
      rendered(host_device("  networkNamespace: default\n  resourceName: nvidia.com/a.b\n"));
  CHECK(stored(manifest) ==
        R"({ "cniVersion":"0.3.1", "name":"hostdevice-net", "type":"host-device", "ipam":{} } )");
  CHECK(manifest.find("resourceName: nvidia.com/a.b\n") != std::string::npos);
  CHECK(manifest == R"(apiVersion: "k8s.cni.cncf.io/v1"
kind: NetworkAttachmentDefinition
metadata:
  name: hostdevice-net
  namespace: default
  annotations:
    k8s.v1.cni.cncf.io/resourceName: nvidia.com/a.b
spec:
  config: '{
  "cniVersion":"0.3.1",
  "name":"hostdevice-net",
  "type":"host-device",
  "ipam":{}
}
'
)");
}

TEST_CASE(
    "a HostDeviceNetwork becomes a network of type vfrail, also where network-operator cannot read it") {
  const std::string manifest = rendered(host_device("  networkNamespace: d\n  resourceName: h\n  ipam: |\n   "
                                                    " {\"type\": \"static\", \"note\": \"it's\"}\n"),
                                        "vfrail");
  CHECK(stored(manifest) ==
        "{ \"cniVersion\":\"0.3.1\", \"name\":\"hostdevice-net\", \"type\":\"vfrail\", \"ipam\":{\"type\": "
        "\"static\", "
        "\"note\": \"it's\"}\n} ");
}

TEST_CASE("what network-operator could not render is refused with key and line") {
  const std::string start = "  networkNamespace: d\n  resourceName: h\n";
  CHECK(error_of(host_device(start + "  ipam: |\n    {\"type\": \"static\", \"note\": \"it's\"}\n"))
            .find("a ' ends the text that network-operator makes of it") != std::string::npos);
  CHECK(error_of(host_device(start + "  ipam: |\n    {\n      \"type\": }\n")) ==
        "spec.ipam: line 10, column 11: no value: a comma too many before it, or a text without quotes");
  CHECK(error_of(host_device(start + "  ipam: '{\"poolName\": \"p\"}'\n")) ==
        "spec.ipam (line 8): type (line 8): missing; it names the CNI plugin");
  CHECK(error_of(host_device(start + "  ipam: '[]'\n")) ==
        "spec.ipam (line 8): must be an object, got a list");
  CHECK(error_of(host_device(start + "  metaPlugins: '{\"type\": \"rdma\"}, 5'\n")) ==
        "spec.metaPlugins (line 8): must be objects with commas between them, got a number");
  CHECK(error_of(host_device("  resourceName: h\n")) ==
        "spec.networkNamespace (line 6): missing; it is where the pods are, and has no default");
  CHECK(error_of(host_device("  networkNamespace: d\n")) ==
        "spec.resourceName (line 6): missing; it names the pool of the device plugin");
  CHECK(error_of(host_device("  networkNamespace: d\n  resourceName: rdma/h\n"))
            .find("spec.resourceName (line 7): \"rdma/h\" must be") == 0);
  CHECK(error_of(host_device("  networkNamespace: \"a\\n  evil: b\"\n  resourceName: h\n"))
            .find("spec.networkNamespace (line 6): ") == 0);
  CHECK(error_of(host_device(start + "  ipams: '{}'\n")) == "spec.ipams (line 8): unknown key");
  CHECK(error_of(
            "apiVersion: mellanox.com/v1alpha1\nkind: HostDeviceNetwork\nmetadata: {name: \"12\"}\nspec:\n" +
            start)
            .find("name or namespace is not a text without quotation marks") != std::string::npos);
}

TEST_CASE("what vfrail-cni would refuse to each pod is not rendered for it, and is for another plugin") {
  const std::string start = "  networkNamespace: d\n  resourceName: h\n";
  const std::string ipam = host_device(start + "  ipam: '{\"type\": \"" + std::string(300, 'a') + "\"}'\n");
  CHECK(error_of(ipam, "vfrail").find("spec.config: ipam.type: must be the name of an IPAM plugin") !=
        std::string::npos);
  CHECK_FALSE(rendered(ipam).empty());
  const std::string meta = host_device(
      start + "  metaPlugins: '{\"type\": \"tuning\"}, {\"type\": \"vfrail\", \"mtu\": \"big\"}'\n");
  CHECK(error_of(meta, "vfrail").find("spec.config: plugins[2]: mtu") != std::string::npos);
}

TEST_CASE("a NetworkAttachmentDefinition has its plugins and its resource") {
  const Network network = network_of(document(
      definition(R"({"cniVersion": "1.0.0", "plugins": [{"type": "vfrail"}, {"type": "tuning"}]})")));
  CHECK(network.faults.empty());
  CHECK(network.name == "default/n");
  CHECK(network.resource == "nvidia.com/hostdev");
  CHECK(network.resource_line == 6);
  CHECK(network.types == std::vector<std::string>{"vfrail", "tuning"});
  CHECK(network_of(
            document(
                "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: n}\n"))
            .faults.empty());
}

TEST_CASE("an error in a NetworkAttachmentDefinition has document, line and key") {
  const std::string where = "f.yaml: document 1 (NetworkAttachmentDefinition n): ";
  CHECK(fault(definition("{\"type\": oops}")) ==
        where +
            "spec.config: line 9, column 10: no value: a comma too many before it, or a text without quotes");
  CHECK(fault(definition("{\"cniVersion\": \"2.0\", \"type\": \"vfrail\"}"))
            .find(where + "spec.config: cniVersion (line 9): \"2.0\" is not a known version of the CNI "
                          "specification: 0.1.0") == 0);
  CHECK(fault(definition("{\"ipam\": {}}")) ==
        where + "spec.config: type (line 9): missing; it names the CNI plugin");
  CHECK(fault(definition("{\"type\": \"../x\"}")).find("must be the name of an executable") !=
        std::string::npos);
  CHECK(fault(definition("{\"plugins\": []}")).find("plugins (line 9): the list is empty") !=
        std::string::npos);
  CHECK(fault(definition("{\"plugins\": [{\"type\": \"vfrail\", \"ipam\": {\"range\": \"x\"}}]}"))
            .find("spec.config: plugins[0].ipam (line 9): type (line 9): missing") != std::string::npos);
  CHECK(fault(definition("{\"name\": \"a b\", \"type\": \"vfrail\"}"))
            .find("name (line 9): must be letters and digits") != std::string::npos);
  CHECK(fault(definition("{\"type\": \"vfrail\"}", "hostdev"))
            .find("(line 6): \"hostdev\" is not the name of a resource") != std::string::npos);
  CHECK(fault(definition("{\"type\": \"vfrail\"}", "~")).find("k8s.v1.cni.cncf.io/resourceName is missing") !=
        std::string::npos);
  CHECK(network_of(document(definition("{\"type\": \"vfrail\", \"device\": \"eth1\"}", "~"))).faults.empty());
  CHECK(
      network_of(document(definition("{\"type\": \"macvlan\", \"master\": \"eth1\"}", "~"))).faults.empty());
}
