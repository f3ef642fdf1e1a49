// Examples and manifests fit together: pods ask for resources that a configuration makes and name networks
// that exist, and vfrail's own parsers accept what is embedded in the YAML.
#include "cni/conf/net_conf.h"
#include "common/json.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/manifests/documents.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
using namespace plugin;
namespace {

// Resources of others with a prefix that our configurations use too.
const std::set<std::string> kForeignResources = {"nvidia.com/gpu"};

bool ours(const std::string& resource) {
  if (kForeignResources.contains(resource)) return false;
  const std::string prefix = resource.substr(0, resource.find('/'));
  const auto all = all_resources();
  return std::any_of(all.begin(), all.end(), [&](const ResourceConfig& one) { return one.prefix == prefix; });
}

bool configured(const std::string& resource) {
  const auto all = all_resources();
  return std::any_of(all.begin(), all.end(),
                     [&](const ResourceConfig& one) { return one.resource() == resource; });
}

// Of these a unit is device nodes alone: Multus can name one device for a network, and they have many or
// share one.
bool without_network(const std::string& resource) {
  const auto all = all_resources();
  return std::any_of(all.begin(), all.end(), [&](const ResourceConfig& one) {
    return one.resource() == resource && one.unit != UnitKind::device;
  });
}

// "default/hostdev" -> the resource of its annotation.
std::map<std::string, std::string> networks() {
  std::map<std::string, std::string> found;
  for (const Document& one : documents_of("NetworkAttachmentDefinition")) {
    const std::string name = one.name_space() + "/" + one.name();
    INFO(one.where());
    REQUIRE(!found.contains(name));
    found[name] = below(one.node, {"metadata", "annotations", kResourceAnnotation}).as<std::string>();
  }
  return found;
}

std::string without_blanks(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; }),
             text.end());
  return text;
}

// "namespace/name" of each network that an annotation selects: a list "[NAMESPACE/]NAME[@INTERFACE],..." or
// JSON.
std::vector<std::string> selected(const std::string& annotation) {
  std::vector<std::string> names;
  if (annotation.find('[') != std::string::npos) {
    const auto list = Json::parse(annotation);
    REQUIRE(list);
    for (const Json& item : *list->as_array()) {
      const Json* name_space = item.find("namespace");
      names.push_back((name_space != nullptr ? *name_space->as_text() : "default") + "/" +
                      *item.find("name")->as_text());
    }
    return names;
  }
  std::istringstream items(without_blanks(annotation));
  for (std::string item; std::getline(items, item, ',');) {
    item = item.substr(0, item.find('@'));
    names.push_back(item.find('/') == std::string::npos ? "default/" + item : item);
  }
  return names;
}

void refuse_duplicate_keys(const YAML::Node& node) {
  if (node.IsSequence()) {
    for (const auto& item : node) refuse_duplicate_keys(item);
  }
  if (!node.IsMap()) return;
  std::set<std::string> keys;
  for (const auto& entry : node) {
    INFO("key " << entry.first.as<std::string>());
    CHECK(keys.insert(entry.first.as<std::string>()).second);
    refuse_duplicate_keys(entry.second);
  }
}

// What Multus hands to the executable for a network: the name filled in, and the device that kubelet
// allocated under two keys.
std::string as_multus_passes_it(Json conf, const std::string& name) {
  if (conf.find("name") == nullptr) conf.set("name", name);
  // With a mode the resource is a shared one, whose units are numbers.
  const std::string device = conf.find("mode") == nullptr ? "0000:3b:00.2" : "7";
  conf.set("deviceID", device);
  conf.set("pciBusID", device);
  return conf.text(Json::Order::sorted);
}

// What network-operator makes of a HostDeviceNetwork: the cniVersion and the keys, in this order, are its
// own.
Document rendered(const Document& network) {
  const YAML::Node spec = network.node["spec"];
  const auto ipam = Json::parse(spec["ipam"].as<std::string>("{}"));
  REQUIRE(ipam);
  Json conf;
  conf.set("cniVersion", "0.3.1").set("name", network.name()).set("type", "host-device").set("ipam", *ipam);

  YAML::Node out;
  out["apiVersion"] = "k8s.cni.cncf.io/v1";
  out["kind"] = "NetworkAttachmentDefinition";
  out["metadata"]["name"] = network.name();
  out["metadata"]["namespace"] = spec["networkNamespace"].as<std::string>();
  out["metadata"]["annotations"][kResourceAnnotation] =
      "nvidia.com/" + spec["resourceName"].as<std::string>();
  out["spec"]["config"] = conf.text();
  return {network.file, out};
}

std::string flat(const YAML::Node& node) {
  YAML::Emitter out;
  out << node;
  return out.c_str();
}

}  // namespace

TEST_CASE("every YAML file parses, says what it is, and has no key twice") {
  REQUIRE(!documents().empty());
  for (const Document& one : documents()) {
    INFO(one.where());
    REQUIRE(one.node.IsMap());
    CHECK(!one.text("apiVersion").empty());
    CHECK(!one.kind().empty());
    refuse_duplicate_keys(one.node);
  }
}

TEST_CASE("every configuration is accepted by --strict-config, without a warning") {
  const auto texts = config_texts();
  REQUIRE(texts.size() > 1);
  for (const auto& [file, text] : texts) {
    INFO(file);
    const auto config = parse_config(text, {.file = file, .strict = true});
    INFO((config ? "" : config.error().text));
    REQUIRE(config);
    CHECK(!config->resources.empty());
    CHECK(config->warnings.empty());
  }
}

TEST_CASE("the ConfigMap advertises RDMA-capable NVIDIA functions as nvidia.com/hostdev") {
  const auto maps = documents_of("ConfigMap");
  REQUIRE(maps.size() == 1);
  const auto config =
      parse_config(config_texts().at(maps[0].where()), {.file = "config.json", .strict = true});
  REQUIRE(config);
  REQUIRE(config->resources.size() == 1);
  CHECK(config->resources[0].resource() == "nvidia.com/hostdev");
  REQUIRE(config->resources[0].selectors.size() == 1);
  CHECK(config->resources[0].selectors[0].list("vendors") == std::vector<std::string>{"15b3"});
  CHECK(config->resources[0].selectors[0].is_rdma);
}

TEST_CASE("every network's resource is one that a configuration makes") {
  for (const auto& [network, resource] : networks()) {
    INFO(network << " wants " << resource);
    CHECK(configured(resource));
  }
}

TEST_CASE("every device that a pod asks for is one that a configuration makes") {
  size_t pods = 0;
  for (const PodTemplate& pod : pod_templates()) {
    for (const auto& [resource, count] : pod.devices()) {
      INFO(pod.where << " asks for " << resource);
      if (!ours(resource)) continue;
      ++pods;
      CHECK(configured(resource));
      CHECK(count > 0);
    }
  }
  CHECK(pods > 0);
}

TEST_CASE("requests equal limits for every device, as the API server requires") {
  for (const PodTemplate& pod : pod_templates()) {
    for (const YAML::Node& container : pod.containers()) {
      for (const auto& [one, other] : {std::pair{"limits", "requests"}, std::pair{"requests", "limits"}}) {
        for (const auto& entry : below(container, {"resources", one})) {
          const auto resource = entry.first.as<std::string>();
          if (resource.find('/') == std::string::npos) continue;
          INFO(pod.where << ": " << one << " of " << resource);
          CHECK(below(container, {"resources", other, resource.c_str()}).as<std::string>("none") ==
                entry.second.as<std::string>());
        }
      }
    }
  }
}

TEST_CASE("a pod names networks that exist, and asks for one device for each of them") {
  // Multus gives no device to a network beyond the number of devices, and the attachment fails.
  const auto known = networks();
  size_t attachments = 0;
  for (const PodTemplate& pod : pod_templates()) {
    std::map<std::string, int> needed;
    for (const std::string& name :
         selected(below(pod.annotations, {kNetworksAnnotation}).as<std::string>(""))) {
      INFO(pod.where << " names " << name);
      REQUIRE(known.contains(name));
      ++needed[known.at(name)];
      ++attachments;
    }
    std::map<std::string, int> asked;
    for (const auto& [resource, count] : pod.devices()) {
      if (ours(resource) && (needed.contains(resource) || !without_network(resource)))
        asked[resource] = count;
    }
    INFO(pod.where);
    CHECK(needed == asked);
  }
  CHECK(attachments > 0);
}

TEST_CASE("a claim's constraints name its requests, and the attribute that devices and GPUs have") {
  size_t aligned = 0;
  for (const Document& one : documents_of("ResourceClaimTemplate")) {
    INFO(one.where());
    CHECK(one.text("apiVersion") == "resource.k8s.io/v1");
    std::set<std::string> requests;
    for (const auto& request : below(one.node, {"spec", "spec", "devices", "requests"})) {
      CHECK(requests.insert(request["name"].as<std::string>()).second);
      CHECK(below(request, {"exactly", "deviceClassName"}).IsDefined());
    }
    CHECK_FALSE(requests.empty());
    for (const auto& constraint : below(one.node, {"spec", "spec", "devices", "constraints"})) {
      ++aligned;
      CHECK(constraint["matchAttribute"].as<std::string>() == "resource.kubernetes.io/pcieRoot");
      for (const auto& name : constraint["requests"]) CHECK(requests.contains(name.as<std::string>()));
    }
  }
  CHECK(aligned >= 2);
}

TEST_CASE("a pod that names a template of claims has a container that uses the claim") {
  size_t pods = 0;
  for (const PodTemplate& pod : pod_templates()) {
    INFO(pod.where);
    std::set<std::string> claims;
    for (const auto& claim : pod.spec["resourceClaims"]) claims.insert(claim["name"].as<std::string>());
    std::set<std::string> used;
    for (const YAML::Node& container : pod.containers()) {
      for (const auto& claim : below(container, {"resources", "claims"}))
        used.insert(claim["name"].as<std::string>());
    }
    CHECK(used == claims);
    pods += claims.empty() ? 0 : 1;
  }
  CHECK(pods >= 3);
}

TEST_CASE("a pod with an RDMA or vfio device may lock memory") {
  for (const PodTemplate& pod : pod_templates()) {
    for (const YAML::Node& container : pod.containers()) {
      bool device = false;
      for (const auto& entry : below(container, {"resources", "limits"})) {
        const auto resource = entry.first.as<std::string>();
        device = device || (resource.find('/') != std::string::npos && ours(resource));
      }
      if (!device) continue;
      INFO(pod.where);
      const auto added = below(container, {"securityContext", "capabilities", "add"})
                             .as<std::vector<std::string>>(std::vector<std::string>{});
      CHECK(std::find(added.begin(), added.end(), "IPC_LOCK") != added.end());
      // For another user than root it has no effect: Kubernetes makes no ambient capabilities.
      CHECK(below(container, {"securityContext", "runAsUser"}).as<int>(0) == 0);
    }
  }
}

TEST_CASE("every network's configuration is accepted by vfrail-cni") {
  const auto found = documents_of("NetworkAttachmentDefinition");
  REQUIRE(!found.empty());
  for (const Document& one : found) {
    INFO(one.where());
    const auto conf = Json::parse(one.node["spec"]["config"].as<std::string>());
    REQUIRE(conf);
    REQUIRE(conf->find("name") != nullptr);
    CHECK(*conf->find("name")->as_text() == one.name());
    const auto parsed = parse_net_conf(as_multus_passes_it(*conf, one.name()));
    INFO((parsed ? "" : parsed.error().text));
    REQUIRE(parsed);
    // The names that vfrail-cni is installed under.
    CHECK((parsed->entry.type == "vfrail" || parsed->entry.type == "host-device"));
    CHECK((parsed->entry.ipam_type.empty()) == (conf->find("ipam") == nullptr));
  }
}

TEST_CASE("the HostDeviceNetwork becomes exactly the network that is shown beside it") {
  const Document network = document("manifests/host-device-network.yaml");
  REQUIRE(network.kind() == "HostDeviceNetwork");
  CHECK(flat(rendered(network).node) == flat(document("manifests/host-device-network.rendered.yaml").node));
}

TEST_CASE("every image is public, or there is a Dockerfile for it") {
  const std::map<std::string, std::string> made = {
      {"registry.example.com/rdma-tools:1", "examples/Dockerfile"},
      {"registry.example.com/nccl-tests:1", "examples/nccl-tests.Dockerfile"},
      {"registry.example.com/ray-rdma:1", "examples/ray.Dockerfile"},
      {"vfrail:" VFRAIL_VERSION, "manifests/Dockerfile"}};
  const std::set<std::string> published = {"nvcr.io/nvidia/pytorch:24.10-py3", "vllm/vllm-openai:v0.8.3",
                                           "vllm/vllm-openai:v0.8.5"};
  std::set<std::string> used;
  for (const PodTemplate& pod : pod_templates()) {
    for (const YAML::Node& container : pod.containers()) {
      const auto image = container["image"].as<std::string>();
      INFO(pod.where << ": " << image);
      used.insert(image);
      CHECK((made.contains(image) || published.contains(image)));
    }
  }
  for (const auto& [image, file] : made) {
    INFO(image << " from " << file);
    CHECK(used.contains(image));
    CHECK(file_text(file).find("docker build -f " + file + " -t " + image + " .") != std::string::npos);
  }
}

TEST_CASE("every feature that only vfrail has is in an example, and has the effect that it states") {
  const auto resources = all_resources();
  const auto some = [&](auto has) { return std::any_of(resources.begin(), resources.end(), has); };
  CHECK(some([](const ResourceConfig& one) { return one.unit == UnitKind::bundle; }));
  CHECK(some([](const ResourceConfig& one) { return one.unit == UnitKind::shared_one; }));
  CHECK(some([](const ResourceConfig& one) { return one.unit == UnitKind::shared && one.units == 63; }));
  CHECK(some([](const ResourceConfig& one) { return one.unit == UnitKind::shared && one.units == 1000; }));
  CHECK(some([](const ResourceConfig& one) { return one.preference == Preference::pcie; }));
  CHECK(some([](const ResourceConfig& one) { return one.health.carrier; }));
  CHECK(some([](const ResourceConfig& one) { return one.health.guid; }));

  std::set<std::string> keys;
  for (const Document& one : documents_of("NetworkAttachmentDefinition")) {
    const auto conf = Json::parse(one.node["spec"]["config"].as<std::string>());
    REQUIRE(conf);
    for (const auto& [key, value] : *conf->as_object()) keys.insert(key);
  }
  for (const char* key : {"sourceRouting", "rdmaName", "rdma", "mtu", "vlan", "spoofchk", "trust",
                          "max_tx_rate", "gsoMaxSize", "groMaxSize", "sysctl"}) {
    INFO(key);
    CHECK(keys.contains(key));
  }
}

TEST_CASE("the READMEs list every file") {
  const std::string manifests = file_text("manifests/README.md");
  const std::string examples = file_text("examples/README.md");
  for (const std::string& file : files_with({".yaml", ".json"})) {
    if (file.starts_with("examples/demo/")) continue;
    // As folders.
    if (file.starts_with("manifests/host-device/") || file.starts_with("manifests/uninstall/")) continue;
    INFO(file);
    const bool manifest = file.starts_with("manifests/");
    const std::string name = file.substr(file.find('/') + 1);
    CHECK((manifest ? manifests : examples).find("`" + name + "`") != std::string::npos);
  }
}

}  // namespace vfrail::test
