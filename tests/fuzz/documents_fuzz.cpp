// Target: a configuration file that is YAML: what a ConfigMap, or an administrator with stdin, gives the
// parser of YAML, and the objects of Kubernetes in it. Networks are read and rendered, too.
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/documents/network.h"
#include "plugin/documents/yaml.h"
#include "tests/fuzz/checks.h"

#include <algorithm>

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::plugin;
using namespace vfrail::fuzz;

namespace {

size_t values_in(const Json& json) {
  size_t count = 1;
  if (const auto* list = json.as_array())
    for (const Json& one : *list) count += values_in(one);
  if (const auto* object = json.as_object())
    for (const auto& [key, one] : *object) count += values_in(one);
  return count;
}

// What is rendered is read as what it was rendered from.
void check_network(const Document& document) {
  const Network network = read_network(document, "openshift.io");
  for (const std::string& fault : network.faults) MUST(!fault.empty());
  const auto kind = operator_network_kind(document);
  if (!kind) return;
  const auto read = read_operator_network(document, *kind);
  if (!read) return;
  for (const char* type : {"host-device", "vfrail"}) {
    const auto text = render_network(*read, type);
    if (!text) continue;
    const auto again = read_documents(*text, "rendered.yaml");
    MUST(again && again->size() == 1 && again->front().name == read->name);
    MUST(read_network(again->front(), "openshift.io").faults.empty());
  }
}

void check_limits(std::string_view text) {
  const auto yaml = read_yaml(text);
  if (!yaml) return check_error(yaml.error());
  size_t values = 0;
  for (const Json& document : *yaml) values += values_in(document);
  MUST(values <= kMaxYamlValues + kMaxYamlDocuments && yaml->size() <= kMaxYamlDocuments);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = text_of(data, size);
  // The parser of YAML takes nearly all of the time, so a new input goes through it once.
  if (is_due(size % 4 == 0)) check_limits(text);
  if (!is_due(size % 4 != 0)) return 0;
  const auto documents = read_documents(text, "all.yaml");
  if (!documents) {
    check_error(documents.error());
    return 0;
  }
  for (const Document& document : *documents) {
    if (is_network(document)) check_network(document);
  }
  const auto config = parse_config(*documents, {.file = "all.yaml"});
  if (!config) check_error(config.error());
  return 0;
}
