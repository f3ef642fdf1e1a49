// The documents of a file that an administrator has: a configuration as it is, or Kubernetes objects in YAML
// or JSON, many in one file, also as a List. Knows their syntax, not their meaning. Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

struct Document {
  std::string where;  // for messages: "c.json", "all.yaml: document 2 (ConfigMap kube-system/vfrail-config)"
  // Of a Kubernetes object; empty otherwise, which means a plain configuration.
  std::string kind;        // "NicClusterPolicy"
  std::string group;       // "mellanox.com"; empty for v1
  std::string name;        // metadata.name
  std::string name_space;  // metadata.namespace
  Json value;
  std::shared_ptr<const std::string> file_text;

  bool is(std::string_view of_group, std::string_view of_kind) const {
    return group == of_group && kind == of_kind;
  }
  std::string title() const;  // "ConfigMap kube-system/vfrail-config"
};

// Errors: "FILE: document 2: line 7, column 3: ...". A text is JSON if the file is called *.json, or begins
// as JSON does and is not called *.yaml: its messages are then those of JSON. `file` is for messages.
Result<std::vector<Document>> read_documents(std::string_view text, const std::string& file);

// The value at "spec.sriovDevicePlugin.config"; null if it is not there.
const Json* find_below(const Json& value, std::string_view keys);
// The spec of an object of Kubernetes, which must outlive its reader.
Result<ObjectReader> read_spec(const Document& document);
// A text of the document that is itself JSON or YAML, with the lines of the file. `scalar` is of `document`.
// Errors begin with the line.
Result<Json> read_embedded(const Document& document, const Json& scalar, std::string_view name);

}  // namespace vfrail::plugin
