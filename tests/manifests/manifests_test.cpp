#include "plugin/config/formats/parse_config.h"
// Examples and manifests fit together: pods ask for resources that a configuration makes and name networks
#include "plugin/config/formats/parse_config.h"
// that exist, and vfrail's own parsers accept what is embedded in the YAML.
#include "cni/conf/net_conf.h"
#include "common/json.h"
#include "plugin/config/formats/parse_config.h"
#include "tests/manifests/documents.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>
namespace vfrail::test {
#include "plugin/config/formats/parse_config.h"
namespace {
#include "plugin/config/formats/parse_config.h"
// Resources of others with a prefix that our configurations use too.
#include "plugin/config/formats/parse_config.h"
const std::set<std::string> kForeignResources = {"nvidia.com/gpu"};
#include "plugin/config/formats/parse_config.h"
bool ours(const std::string& resource) {
#include "plugin/config/formats/parse_config.h"
  if (kForeignResources.contains(resource)) return false;
#include "plugin/config/formats/parse_config.h"
  const std::string prefix = resource.substr(0, resource.find('/'));
#include "plugin/config/formats/parse_config.h"
  const auto all = all_resources();
#include "plugin/config/formats/parse_config.h"
  return std::any_of(all.begin(), all.end(), [&](const ResourceConfig& one) { return one.prefix == prefix; });
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
bool configured(const std::string& resource) {
#include "plugin/config/formats/parse_config.h"
  const auto all = all_resources();
#include "plugin/config/formats/parse_config.h"
  return std::any_of(all.begin(), all.end(),
#include "plugin/config/formats/parse_config.h"
                     [&](const ResourceConfig& one) { return one.resource() == resource; });
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
// Of these a unit is device nodes alone: Multus can name one device for a network, and they have many or
#include "plugin/config/formats/parse_config.h"
// share one.
#include "plugin/config/formats/parse_config.h"
bool without_network(const std::string& resource) {
#include "plugin/config/formats/parse_config.h"
  const auto all = all_resources();
#include "plugin/config/formats/parse_config.h"
  return std::any_of(all.begin(), all.end(), [&](const ResourceConfig& one) {
#include "plugin/config/formats/parse_config.h"
    return one.resource() == resource && one.unit != UnitKind::device;
#include "plugin/config/formats/parse_config.h"
  });
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
// "default/hostdev" -> the resource of its annotation.
#include "plugin/config/formats/parse_config.h"
std::map<std::string, std::string> networks() {
#include "plugin/config/formats/parse_config.h"
  std::map<std::string, std::string> found;
#include "plugin/config/formats/parse_config.h"
  for (const Document& one : documents_of("NetworkAttachmentDefinition")) {
#include "plugin/config/formats/parse_config.h"
    const std::string name = one.name_space() + "/" + one.name();
#include "plugin/config/formats/parse_config.h"
    INFO(one.where());
#include "plugin/config/formats/parse_config.h"
    REQUIRE(!found.contains(name));
#include "plugin/config/formats/parse_config.h"
    found[name] = below(one.node, {"metadata", "annotations", kResourceAnnotation}).as<std::string>();
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
  return found;
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
std::string without_blanks(std::string text) {
#include "plugin/config/formats/parse_config.h"
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; }),
#include "plugin/config/formats/parse_config.h"
             text.end());
#include "plugin/config/formats/parse_config.h"
  return text;
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
// "namespace/name" of each network that an annotation selects: a list "[NAMESPACE/]NAME[@INTERFACE],..." or
#include "plugin/config/formats/parse_config.h"
// JSON.
#include "plugin/config/formats/parse_config.h"
std::vector<std::string> selected(const std::string& annotation) {
#include "plugin/config/formats/parse_config.h"
  std::vector<std::string> names;
#include "plugin/config/formats/parse_config.h"
  if (annotation.find('[') != std::string::npos) {
#include "plugin/config/formats/parse_config.h"
    const auto list = Json::parse(annotation);
#include "plugin/config/formats/parse_config.h"
    REQUIRE(list);
#include "plugin/config/formats/parse_config.h"
    for (const Json& item : *list->as_array()) {
#include "plugin/config/formats/parse_config.h"
      const Json* name_space = item.find("namespace");
#include "plugin/config/formats/parse_config.h"
      names.push_back((name_space != nullptr ? *name_space->as_text() : "default") + "/" +
#include "plugin/config/formats/parse_config.h"
                      *item.find("name")->as_text());
#include "plugin/config/formats/parse_config.h"
    }
#include "plugin/config/formats/parse_config.h"
    return names;
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
  std::istringstream items(without_blanks(annotation));
#include "plugin/config/formats/parse_config.h"
  for (std::string item; std::getline(items, item, ',');) {
#include "plugin/config/formats/parse_config.h"
    item = item.substr(0, item.find('@'));
#include "plugin/config/formats/parse_config.h"
    names.push_back(item.find('/') == std::string::npos ? "default/" + item : item);
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
  return names;
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
void refuse_duplicate_keys(const YAML::Node& node) {
#include "plugin/config/formats/parse_config.h"
  if (node.IsSequence()) {
#include "plugin/config/formats/parse_config.h"
    for (const auto& item : node) refuse_duplicate_keys(item);
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
  if (!node.IsMap()) return;
#include "plugin/config/formats/parse_config.h"
  std::set<std::string> keys;
#include "plugin/config/formats/parse_config.h"
  for (const auto& entry : node) {
#include "plugin/config/formats/parse_config.h"
    INFO("key " << entry.first.as<std::string>());
#include "plugin/config/formats/parse_config.h"
    CHECK(keys.insert(entry.first.as<std::string>()).second);
#include "plugin/config/formats/parse_config.h"
    refuse_duplicate_keys(entry.second);
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
// What Multus hands to the executable for a network: the name filled in, and the device that kubelet
#include "plugin/config/formats/parse_config.h"
// allocated under two keys.
#include "plugin/config/formats/parse_config.h"
std::string as_multus_passes_it(Json conf, const std::string& name) {
#include "plugin/config/formats/parse_config.h"
  if (conf.find("name") == nullptr) conf.set("name", name);
#include "plugin/config/formats/parse_config.h"
  conf.set("deviceID", "0000:3b:00.2");
#include "plugin/config/formats/parse_config.h"
  conf.set("pciBusID", "0000:3b:00.2");
#include "plugin/config/formats/parse_config.h"
  return conf.text(Json::Order::sorted);
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
// What network-operator makes of a HostDeviceNetwork: the cniVersion and the keys, in this order, are its
#include "plugin/config/formats/parse_config.h"
// own.
#include "plugin/config/formats/parse_config.h"
Document rendered(const Document& network) {
#include "plugin/config/formats/parse_config.h"
  const YAML::Node spec = network.node["spec"];
#include "plugin/config/formats/parse_config.h"
  const auto ipam = Json::parse(spec["ipam"].as<std::string>("{}"));
#include "plugin/config/formats/parse_config.h"
  REQUIRE(ipam);
#include "plugin/config/formats/parse_config.h"
  Json conf;
#include "plugin/config/formats/parse_config.h"
  conf.set("cniVersion", "0.3.1").set("name", network.name()).set("type", "host-device").set("ipam", *ipam);
#include "plugin/config/formats/parse_config.h"
  YAML::Node out;
#include "plugin/config/formats/parse_config.h"
  out["apiVersion"] = "k8s.cni.cncf.io/v1";
#include "plugin/config/formats/parse_config.h"
  out["kind"] = "NetworkAttachmentDefinition";
#include "plugin/config/formats/parse_config.h"
  out["metadata"]["name"] = network.name();
#include "plugin/config/formats/parse_config.h"
  out["metadata"]["namespace"] = spec["networkNamespace"].as<std::string>();
#include "plugin/config/formats/parse_config.h"
  out["metadata"]["annotations"][kResourceAnnotation] =
#include "plugin/config/formats/parse_config.h"
      "nvidia.com/" + spec["resourceName"].as<std::string>();
#include "plugin/config/formats/parse_config.h"
  out["spec"]["config"] = conf.text();
#include "plugin/config/formats/parse_config.h"
  return {network.file, out};
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
std::string flat(const YAML::Node& node) {
#include "plugin/config/formats/parse_config.h"
  YAML::Emitter out;
#include "plugin/config/formats/parse_config.h"
  out << node;
#include "plugin/config/formats/parse_config.h"
  return out.c_str();
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
}  // namespace
#include "plugin/config/formats/parse_config.h"
TEST_CASE("every YAML file parses, says what it is, and has no key twice") {
#include "plugin/config/formats/parse_config.h"
  REQUIRE(!documents().empty());
#include "plugin/config/formats/parse_config.h"
  for (const Document& one : documents()) {
#include "plugin/config/formats/parse_config.h"
    INFO(one.where());
#include "plugin/config/formats/parse_config.h"
    REQUIRE(one.node.IsMap());
#include "plugin/config/formats/parse_config.h"
    CHECK(!one.text("apiVersion").empty());
#include "plugin/config/formats/parse_config.h"
    CHECK(!one.kind().empty());
#include "plugin/config/formats/parse_config.h"
    refuse_duplicate_keys(one.node);
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("every configuration is accepted by --strict-config, without a warning") {
#include "plugin/config/formats/parse_config.h"
  const auto texts = config_texts();
#include "plugin/config/formats/parse_config.h"
  REQUIRE(texts.size() > 1);
#include "plugin/config/formats/parse_config.h"
  for (const auto& [file, text] : texts) {
#include "plugin/config/formats/parse_config.h"
    INFO(file);
#include "plugin/config/formats/parse_config.h"
    const auto config = parse_config(text, {.file = file, .strict = true});
#include "plugin/config/formats/parse_config.h"
    INFO((config ? "" : config.error().text));
#include "plugin/config/formats/parse_config.h"
    REQUIRE(config);
#include "plugin/config/formats/parse_config.h"
    CHECK(!config->resources.empty());
#include "plugin/config/formats/parse_config.h"
    CHECK(config->warnings.empty());
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("the ConfigMap advertises RDMA-capable NVIDIA functions as nvidia.com/hostdev") {
#include "plugin/config/formats/parse_config.h"
  const auto maps = documents_of("ConfigMap");
#include "plugin/config/formats/parse_config.h"
  REQUIRE(maps.size() == 1);
#include "plugin/config/formats/parse_config.h"
  const auto config =
#include "plugin/config/formats/parse_config.h"
      parse_config(config_texts().at(maps[0].where()), {.file = "config.json", .strict = true});
#include "plugin/config/formats/parse_config.h"
  REQUIRE(config);
#include "plugin/config/formats/parse_config.h"
  REQUIRE(config->resources.size() == 1);
#include "plugin/config/formats/parse_config.h"
  CHECK(config->resources[0].resource() == "nvidia.com/hostdev");
#include "plugin/config/formats/parse_config.h"
  REQUIRE(config->resources[0].selectors.size() == 1);
#include "plugin/config/formats/parse_config.h"
  CHECK(config->resources[0].selectors[0].list("vendors") == std::vector<std::string>{"15b3"});
#include "plugin/config/formats/parse_config.h"
  CHECK(config->resources[0].selectors[0].is_rdma);
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("every network's resource is one that a configuration makes") {
#include "plugin/config/formats/parse_config.h"
  for (const auto& [network, resource] : networks()) {
#include "plugin/config/formats/parse_config.h"
    INFO(network << " wants " << resource);
#include "plugin/config/formats/parse_config.h"
    CHECK(configured(resource));
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("every device that a pod asks for is one that a configuration makes") {
#include "plugin/config/formats/parse_config.h"
  size_t pods = 0;
#include "plugin/config/formats/parse_config.h"
  for (const PodTemplate& pod : pod_templates()) {
#include "plugin/config/formats/parse_config.h"
    for (const auto& [resource, count] : pod.devices()) {
#include "plugin/config/formats/parse_config.h"
      INFO(pod.where << " asks for " << resource);
#include "plugin/config/formats/parse_config.h"
      if (!ours(resource)) continue;
#include "plugin/config/formats/parse_config.h"
      ++pods;
#include "plugin/config/formats/parse_config.h"
      CHECK(configured(resource));
#include "plugin/config/formats/parse_config.h"
      CHECK(count > 0);
#include "plugin/config/formats/parse_config.h"
    }
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
  CHECK(pods > 0);
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("requests equal limits for every device, as the API server requires") {
#include "plugin/config/formats/parse_config.h"
  for (const PodTemplate& pod : pod_templates()) {
#include "plugin/config/formats/parse_config.h"
    for (const YAML::Node& container : pod.containers()) {
#include "plugin/config/formats/parse_config.h"
      for (const auto& [one, other] : {std::pair{"limits", "requests"}, std::pair{"requests", "limits"}}) {
#include "plugin/config/formats/parse_config.h"
        for (const auto& entry : below(container, {"resources", one})) {
#include "plugin/config/formats/parse_config.h"
          const auto resource = entry.first.as<std::string>();
#include "plugin/config/formats/parse_config.h"
          if (resource.find('/') == std::string::npos) continue;
#include "plugin/config/formats/parse_config.h"
          INFO(pod.where << ": " << one << " of " << resource);
#include "plugin/config/formats/parse_config.h"
          CHECK(below(container, {"resources", other, resource.c_str()}).as<std::string>("none") ==
#include "plugin/config/formats/parse_config.h"
                entry.second.as<std::string>());
#include "plugin/config/formats/parse_config.h"
        }
#include "plugin/config/formats/parse_config.h"
      }
#include "plugin/config/formats/parse_config.h"
    }
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("a pod names networks that exist, and asks for one device for each of them") {
#include "plugin/config/formats/parse_config.h"
  // Multus gives no device to a network beyond the number of devices, and the attachment fails.
#include "plugin/config/formats/parse_config.h"
  const auto known = networks();
#include "plugin/config/formats/parse_config.h"
  size_t attachments = 0;
#include "plugin/config/formats/parse_config.h"
  for (const PodTemplate& pod : pod_templates()) {
#include "plugin/config/formats/parse_config.h"
    std::map<std::string, int> needed;
#include "plugin/config/formats/parse_config.h"
    for (const std::string& name :
#include "plugin/config/formats/parse_config.h"
         selected(below(pod.annotations, {kNetworksAnnotation}).as<std::string>(""))) {
#include "plugin/config/formats/parse_config.h"
      INFO(pod.where << " names " << name);
#include "plugin/config/formats/parse_config.h"
      REQUIRE(known.contains(name));
#include "plugin/config/formats/parse_config.h"
      ++needed[known.at(name)];
#include "plugin/config/formats/parse_config.h"
      ++attachments;
#include "plugin/config/formats/parse_config.h"
    }
#include "plugin/config/formats/parse_config.h"
    std::map<std::string, int> asked;
#include "plugin/config/formats/parse_config.h"
    for (const auto& [resource, count] : pod.devices()) {
#include "plugin/config/formats/parse_config.h"
      if (ours(resource) && (needed.contains(resource) || !without_network(resource)))
#include "plugin/config/formats/parse_config.h"
        asked[resource] = count;
#include "plugin/config/formats/parse_config.h"
    }
#include "plugin/config/formats/parse_config.h"
    INFO(pod.where);
#include "plugin/config/formats/parse_config.h"
    CHECK(needed == asked);
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
  CHECK(attachments > 0);
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("a pod with an RDMA or vfio device may lock memory") {
#include "plugin/config/formats/parse_config.h"
  for (const PodTemplate& pod : pod_templates()) {
#include "plugin/config/formats/parse_config.h"
    for (const YAML::Node& container : pod.containers()) {
#include "plugin/config/formats/parse_config.h"
      bool device = false;
#include "plugin/config/formats/parse_config.h"
      for (const auto& entry : below(container, {"resources", "limits"})) {
#include "plugin/config/formats/parse_config.h"
        const auto resource = entry.first.as<std::string>();
#include "plugin/config/formats/parse_config.h"
        device = device || (resource.find('/') != std::string::npos && ours(resource));
#include "plugin/config/formats/parse_config.h"
      }
#include "plugin/config/formats/parse_config.h"
      if (!device) continue;
#include "plugin/config/formats/parse_config.h"
      INFO(pod.where);
#include "plugin/config/formats/parse_config.h"
      const auto added = below(container, {"securityContext", "capabilities", "add"})
#include "plugin/config/formats/parse_config.h"
                             .as<std::vector<std::string>>(std::vector<std::string>{});
#include "plugin/config/formats/parse_config.h"
      CHECK(std::find(added.begin(), added.end(), "IPC_LOCK") != added.end());
#include "plugin/config/formats/parse_config.h"
      // For another user than root it has no effect: Kubernetes makes no ambient capabilities.
#include "plugin/config/formats/parse_config.h"
      CHECK(below(container, {"securityContext", "runAsUser"}).as<int>(0) == 0);
#include "plugin/config/formats/parse_config.h"
    }
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("every network's configuration is accepted by vfrail-cni") {
#include "plugin/config/formats/parse_config.h"
  const auto found = documents_of("NetworkAttachmentDefinition");
#include "plugin/config/formats/parse_config.h"
  REQUIRE(!found.empty());
#include "plugin/config/formats/parse_config.h"
  for (const Document& one : found) {
#include "plugin/config/formats/parse_config.h"
    INFO(one.where());
#include "plugin/config/formats/parse_config.h"
    const auto conf = Json::parse(one.node["spec"]["config"].as<std::string>());
#include "plugin/config/formats/parse_config.h"
    REQUIRE(conf);
#include "plugin/config/formats/parse_config.h"
    REQUIRE(conf->find("name") != nullptr);
#include "plugin/config/formats/parse_config.h"
    CHECK(*conf->find("name")->as_text() == one.name());
#include "plugin/config/formats/parse_config.h"
    const auto parsed = parse_net_conf(as_multus_passes_it(*conf, one.name()));
#include "plugin/config/formats/parse_config.h"
    INFO((parsed ? "" : parsed.error().text));
#include "plugin/config/formats/parse_config.h"
    REQUIRE(parsed);
#include "plugin/config/formats/parse_config.h"
    // The names that vfrail-cni is installed under.
#include "plugin/config/formats/parse_config.h"
    CHECK((parsed->type == "vfrail" || parsed->type == "host-device"));
#include "plugin/config/formats/parse_config.h"
    CHECK((parsed->ipam_type.empty()) == (conf->find("ipam") == nullptr));
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("the HostDeviceNetwork becomes exactly the network that is shown beside it") {
#include "plugin/config/formats/parse_config.h"
  const Document network = document("manifests/host-device-network.yaml");
#include "plugin/config/formats/parse_config.h"
  REQUIRE(network.kind() == "HostDeviceNetwork");
#include "plugin/config/formats/parse_config.h"
  CHECK(flat(rendered(network).node) == flat(document("manifests/host-device-network.rendered.yaml").node));
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("every image is public, or there is a Dockerfile for it") {
#include "plugin/config/formats/parse_config.h"
  const std::map<std::string, std::string> made = {
#include "plugin/config/formats/parse_config.h"
      {"registry.example.com/rdma-tools:1", "examples/Dockerfile"},
#include "plugin/config/formats/parse_config.h"
      {"registry.example.com/nccl-tests:1", "examples/nccl-tests.Dockerfile"},
#include "plugin/config/formats/parse_config.h"
      {"registry.example.com/ray-rdma:1", "examples/ray.Dockerfile"},
#include "plugin/config/formats/parse_config.h"
      {"vfrail:" VFRAIL_VERSION, "manifests/Dockerfile"}};
#include "plugin/config/formats/parse_config.h"
  const std::set<std::string> published = {"nvcr.io/nvidia/pytorch:24.10-py3", "vllm/vllm-openai:v0.8.3",
#include "plugin/config/formats/parse_config.h"
                                           "vllm/vllm-openai:v0.8.5"};
#include "plugin/config/formats/parse_config.h"
  std::set<std::string> used;
#include "plugin/config/formats/parse_config.h"
  for (const PodTemplate& pod : pod_templates()) {
#include "plugin/config/formats/parse_config.h"
    for (const YAML::Node& container : pod.containers()) {
#include "plugin/config/formats/parse_config.h"
      const auto image = container["image"].as<std::string>();
#include "plugin/config/formats/parse_config.h"
      INFO(pod.where << ": " << image);
#include "plugin/config/formats/parse_config.h"
      used.insert(image);
#include "plugin/config/formats/parse_config.h"
      CHECK((made.contains(image) || published.contains(image)));
#include "plugin/config/formats/parse_config.h"
    }
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
  for (const auto& [image, file] : made) {
#include "plugin/config/formats/parse_config.h"
    INFO(image << " from " << file);
#include "plugin/config/formats/parse_config.h"
    CHECK(used.contains(image));
#include "plugin/config/formats/parse_config.h"
    CHECK(file_text(file).find("docker build -f " + file + " -t " + image + " .") != std::string::npos);
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("every feature that only vfrail has is in an example, and has the effect that it states") {
#include "plugin/config/formats/parse_config.h"
  const auto resources = all_resources();
#include "plugin/config/formats/parse_config.h"
  const auto some = [&](auto has) { return std::any_of(resources.begin(), resources.end(), has); };
#include "plugin/config/formats/parse_config.h"
  CHECK(some([](const ResourceConfig& one) { return one.unit == UnitKind::bundle; }));
#include "plugin/config/formats/parse_config.h"
  CHECK(some([](const ResourceConfig& one) { return one.unit == UnitKind::shared_one; }));
#include "plugin/config/formats/parse_config.h"
  CHECK(some([](const ResourceConfig& one) { return one.unit == UnitKind::shared && one.units == 63; }));
#include "plugin/config/formats/parse_config.h"
  CHECK(some([](const ResourceConfig& one) { return one.unit == UnitKind::shared && one.units == 1000; }));
#include "plugin/config/formats/parse_config.h"
  CHECK(some([](const ResourceConfig& one) { return one.preference == Preference::pcie; }));
#include "plugin/config/formats/parse_config.h"
  CHECK(some([](const ResourceConfig& one) { return one.health.carrier; }));
#include "plugin/config/formats/parse_config.h"
  CHECK(some([](const ResourceConfig& one) { return one.health.guid; }));
#include "plugin/config/formats/parse_config.h"
  std::set<std::string> keys;
#include "plugin/config/formats/parse_config.h"
  for (const Document& one : documents_of("NetworkAttachmentDefinition")) {
#include "plugin/config/formats/parse_config.h"
    const auto conf = Json::parse(one.node["spec"]["config"].as<std::string>());
#include "plugin/config/formats/parse_config.h"
    REQUIRE(conf);
#include "plugin/config/formats/parse_config.h"
    for (const auto& [key, value] : *conf->as_object()) keys.insert(key);
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
  for (const char* key : {"sourceRouting", "rdmaName", "rdma", "mtu", "vlan", "spoofchk", "trust",
#include "plugin/config/formats/parse_config.h"
                          "max_tx_rate", "gsoMaxSize", "groMaxSize", "sysctl"}) {
#include "plugin/config/formats/parse_config.h"
    INFO(key);
#include "plugin/config/formats/parse_config.h"
    CHECK(keys.contains(key));
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
TEST_CASE("the READMEs list every file") {
#include "plugin/config/formats/parse_config.h"
  const std::string manifests = file_text("manifests/README.md");
#include "plugin/config/formats/parse_config.h"
  const std::string examples = file_text("examples/README.md");
#include "plugin/config/formats/parse_config.h"
  for (const std::string& file : files_with({".yaml", ".json"})) {
#include "plugin/config/formats/parse_config.h"
    if (file.starts_with("examples/demo/")) continue;
#include "plugin/config/formats/parse_config.h"
      // As folders.
#include "plugin/config/formats/parse_config.h"
    if (file.starts_with("manifests/host-device/") || file.starts_with("manifests/uninstall/")) continue;
#include "plugin/config/formats/parse_config.h"
    INFO(file);
#include "plugin/config/formats/parse_config.h"
    const bool manifest = file.starts_with("manifests/");
#include "plugin/config/formats/parse_config.h"
    const std::string name = file.substr(file.find('/') + 1);
#include "plugin/config/formats/parse_config.h"
    CHECK((manifest ? manifests : examples).find("`" + name + "`") != std::string::npos);
#include "plugin/config/formats/parse_config.h"
  }
#include "plugin/config/formats/parse_config.h"
}
#include "plugin/config/formats/parse_config.h"
}  // namespace vfrail::test
