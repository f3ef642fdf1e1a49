// The YAML and JSON files below manifests/ and examples/, and what `vfrail example` prints for their
// configurations, as the tests read them. Reads only; checks nothing.
#pragma once

#include "plugin/device/config/config.h"

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace vfrail::test {
using namespace plugin;

// node[a][b]... ; yaml-cpp throws when a key on the way is absent, this gives an undefined node.
YAML::Node below(const YAML::Node& node, std::initializer_list<const char*> keys);

struct Document {
  std::string file;  // "examples/networks.yaml"
  YAML::Node node;

  std::string text(const std::string& key) const { return node[key].as<std::string>(""); }
  std::string kind() const { return text("kind"); }
  std::string name() const { return below(node, {"metadata", "name"}).as<std::string>(""); }
  // Every example lives in the namespace default unless it says another.
  std::string name_space() const { return below(node, {"metadata", "namespace"}).as<std::string>("default"); }
  std::string where() const { return file + ": " + kind() + " " + name(); }
};

// "manifests/daemonset.yaml" -> its text. Throws if it cannot be read.
std::string file_text(const std::string& file);

// Paths relative to the repository of all files below manifests/ and examples/ with one of the endings,
// sorted.
std::vector<std::string> files_with(const std::vector<std::string>& endings);

// What `vfrail example` prints: every kind for every resource of the configurations below.
std::vector<Document> generated_documents();
// Every document of every YAML file, and the generated ones.
const std::vector<Document>& documents();
std::vector<Document> documents_of(const std::string& kind);
// The only document of a file.
Document document(const std::string& file);

// A pod template, wherever in a document it is: anything with spec.containers.
struct PodTemplate {
  std::string where;
  YAML::Node annotations;
  YAML::Node spec;

  std::vector<YAML::Node> containers() const;  // init containers too
  // What all containers together ask for, of resources with a '/' in the name; and what its claims do.
  std::map<std::string, int> devices() const;
};
std::vector<PodTemplate> pod_templates(const std::vector<Document>& documents);
std::vector<PodTemplate> pod_templates();  // of documents()

// Every configuration of the plugin: those below examples/, and the ConfigMap's. File -> text.
std::map<std::string, std::string> config_texts();
// The resources of all of them. Fails the test that asks if one does not parse.
std::vector<ResourceConfig> all_resources();

inline constexpr const char* kResourceAnnotation = "k8s.v1.cni.cncf.io/resourceName";
inline constexpr const char* kNetworksAnnotation = "k8s.v1.cni.cncf.io/networks";

}  // namespace vfrail::test
