// The configurations in the documents of a file, found by the kind of each object. plugin/device/config
// interprets them. Pure.
#pragma once

#include "common/errors/warning.h"
#include "plugin/documents/documents.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct ConfigPart {
  std::string where;  // for messages: "all.yaml: document 2 (ConfigMap a/b): data.config.json"
  Json value;         // an object with resourceList, configList or mode
};

struct FoundConfig {
  std::vector<ConfigPart> parts;   // in the order of the file; policies behind the others
  std::vector<Warning> warnings;   // of the objects around them
  std::vector<std::string> notes;  // what was taken, where there was a choice

  void warn(const std::string& text, ErrorId id) { warnings.push_back({text, id}); }
  // What makes a selection wider than it was written.
  void mistake(const std::string& text) { warn(text, ErrorId::config_mistake); }
};

// `policy_prefix` is that of the resources of SriovNetworkNodePolicies.
Result<FoundConfig> find_config(const std::vector<Document>& documents, const std::string& policy_prefix);

// Why find_config() has found none in these documents.
std::string no_config(const std::vector<Document>& documents);

// Each function reads one kind of object. A ConfigMap that has none of the usual keys, and no text that is a
// configuration, is another program's.
Result<> add_config_map(const Document& document, FoundConfig& out);
Result<> add_nic_policy(const Document& document, FoundConfig& out);
// All SriovNetworkNodePolicies of a file: those with one resourceName make one resource.
Result<> add_node_policies(const std::vector<const Document*>& documents, const std::string& prefix,
                           FoundConfig& out);

}  // namespace vfrail::plugin
