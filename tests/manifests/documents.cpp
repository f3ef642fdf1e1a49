#include "tests/manifests/documents.h"

#include "plugin/admin/advise/example.h"
#include "plugin/admin/advise/jobs.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/support/places.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

const fs::path kSource = source_path();

void find_pods(const YAML::Node& node, const std::string& where, std::vector<PodTemplate>& found) {
  if (node.IsSequence()) {
    for (const auto& item : node) find_pods(item, where, found);
  }
  if (!node.IsMap()) return;
  if (below(node, {"spec", "containers"}).IsDefined()) {
    found.push_back({where, below(node, {"metadata", "annotations"}), node["spec"]});
    return;
  }
  for (const auto& entry : node) find_pods(entry.second, where + "." + entry.first.as<std::string>(), found);
}

}  // namespace

YAML::Node below(const YAML::Node& node, std::initializer_list<const char*> keys) {
  YAML::Node at = node;
  for (const char* key : keys) {
    if (!at.IsDefined() || !at.IsMap() || !std::as_const(at)[key].IsDefined()) {
      return YAML::Node(YAML::NodeType::Undefined);
    }
    at.reset(at[key]);
  }
  return at;
}

std::string file_text(const std::string& file) {
  std::ifstream in(kSource / file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + file);
  return text.str();
}

std::vector<std::string> files_with(const std::vector<std::string>& endings) {
  std::vector<std::string> files;
  for (const char* folder : {"manifests", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kSource / folder)) {
      const std::string ending = entry.path().extension().string();
      // Templates are no YAML before they are rendered; tests/manifests/run holds the chart to what is.
      if (entry.path().string().starts_with((kSource / "manifests/chart/").string())) continue;
      if (entry.is_regular_file() && std::find(endings.begin(), endings.end(), ending) != endings.end()) {
        files.push_back(fs::relative(entry.path(), kSource).string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

void load(const std::string& file, const std::string& text, std::vector<Document>& to) {
  try {
    for (const YAML::Node& node : YAML::LoadAll(text)) to.push_back({file, node});
  } catch (const YAML::Exception& error) {
    throw std::runtime_error(file + ": " + error.what() + "\n" + text);
  }
}

const std::vector<Document>& file_documents() {
  static const std::vector<Document> all = [] {
    std::vector<Document> read;
    for (const std::string& file : files_with({".yaml", ".yml"})) load(file, file_text(file), read);
    return read;
  }();
  return all;
}

// "default/hostdev" of a network of the files for that resource; empty: there is none.
std::string find_network(const std::string& resource) {
  for (const Document& one : file_documents()) {
    if (one.kind() == "NetworkAttachmentDefinition" &&
        below(one.node, {"metadata", "annotations", kResourceAnnotation}).as<std::string>("") == resource)
      return one.name_space() + "/" + one.name();
  }
  return "";
}

// A kind of job for each resource, on a network of the files. Where they have none, the pod's text defines
// it, and the jobs name it.
void generate(const Config& config, const ResourceConfig& resource, std::vector<Document>& to) {
  std::string network = needs_network(resource) ? find_network(resource.resource()) : "";
  for (const JobKind& kind : job_kinds()) {
    ExampleRequest request{.resource = resource.resource(), .kind = kind.name, .gpus = 4};
    if (!network.empty()) request.networks = {network};
    const auto text = make_example(config, request);
    if (!text) throw std::runtime_error(text.error().text);
    load("vfrail example --resource " + resource.resource() + " --kind " + kind.name, *text, to);
    if (!network.empty() || !needs_network(resource)) continue;
    for (const Document& one : to) {
      if (below(one.node, {"metadata", "annotations", kResourceAnnotation}).as<std::string>("") ==
          resource.resource())
        network = one.name_space() + "/" + one.name();
    }
  }
}

}  // namespace

std::vector<Document> generated_documents() {
  std::vector<Document> out;
  std::set<std::string> seen;
  for (const auto& [file, text] : config_texts()) {
    const auto config = parse_config(text, {.file = file, .strict = true});
    if (!config) throw std::runtime_error(config.error().text);
    for (const ResourceConfig& resource : config->resources) {
      if (seen.insert(resource.resource()).second) generate(*config, resource, out);
    }
  }
  return out;
}

const std::vector<Document>& documents() {
  static const std::vector<Document> all = [] {
    std::vector<Document> out = file_documents();
    for (const Document& one : generated_documents()) out.push_back(one);
    return out;
  }();
  return all;
}

std::vector<Document> documents_of(const std::string& kind) {
  std::vector<Document> found;
  for (const Document& one : documents()) {
    if (one.kind() == kind) found.push_back(one);
  }
  return found;
}

Document document(const std::string& file) {
  std::vector<Document> found;
  for (const Document& one : documents()) {
    if (one.file == file) found.push_back(one);
  }
  if (found.size() != 1) throw std::runtime_error(file + ": one document is wanted");
  return found[0];
}

std::vector<YAML::Node> PodTemplate::containers() const {
  std::vector<YAML::Node> all;
  for (const char* list : {"initContainers", "containers"}) {
    for (const auto& container : spec[list]) all.push_back(container);
  }
  return all;
}

namespace {

// The resource whose devices a class has: of a class of the documents by its expression, else the one that is
// called so, as the class that `vfrail example` names. Empty: another driver's.
std::string resource_of_class(const std::string& name) {
  std::string expression;
  for (const Document& one : documents_of("DeviceClass")) {
    if (one.name() != name) continue;
    for (const auto& selector : below(one.node, {"spec", "selectors"}))
      expression += below(selector, {"cel", "expression"}).as<std::string>("");
  }
  for (const ResourceConfig& resource : all_resources()) {
    const bool named = expression.find("\"" + resource.resource() + "\"") != std::string::npos;
    if (expression.empty() ? resource.name == name : named) return resource.resource();
  }
  return "";
}

// Of the templates in the document's own file.
void add_claimed(const PodTemplate& pod, std::map<std::string, int>& sum) {
  for (const auto& claim : pod.spec["resourceClaims"]) {
    const auto name = claim["resourceClaimTemplateName"].as<std::string>();
    for (const Document& one : documents_of("ResourceClaimTemplate")) {
      if (one.name() != name || !pod.where.starts_with(one.file + ": ")) continue;
      for (const auto& request : below(one.node, {"spec", "spec", "devices", "requests"})) {
        const std::string resource =
            resource_of_class(below(request, {"exactly", "deviceClassName"}).as<std::string>());
        if (!resource.empty()) sum[resource] += below(request, {"exactly", "count"}).as<int>(1);
      }
    }
  }
}

}  // namespace

std::map<std::string, int> PodTemplate::devices() const {
  std::map<std::string, int> sum;
  add_claimed(*this, sum);
  for (const YAML::Node& container : containers()) {
    for (const auto& entry : below(container, {"resources", "limits"})) {
      const auto resource = entry.first.as<std::string>();
      if (resource.find('/') != std::string::npos) sum[resource] += entry.second.as<int>();
    }
  }
  return sum;
}

std::vector<PodTemplate> pod_templates(const std::vector<Document>& documents) {
  std::vector<PodTemplate> found;
  for (const Document& one : documents) find_pods(one.node, one.where(), found);
  return found;
}

std::vector<PodTemplate> pod_templates() { return pod_templates(documents()); }

std::map<std::string, std::string> config_texts() {
  std::map<std::string, std::string> texts;
  for (const std::string& file : files_with({".json"})) texts[file] = file_text(file);
  for (const Document& map : file_documents()) {
    if (map.kind() != "ConfigMap") continue;
    texts[map.where()] = map.node["data"]["config.json"].as<std::string>();
  }
  return texts;
}

std::vector<ResourceConfig> all_resources() {
  std::vector<ResourceConfig> all;
  for (const auto& [file, text] : config_texts()) {
    auto config = parse_config(text, {.file = file, .strict = true});
    if (!config) throw std::runtime_error(config.error().text);
    for (const ResourceConfig& resource : config->resources) all.push_back(resource);
  }
  return all;
}

}  // namespace vfrail::test
