// What a scalar of YAML is: a text, a number, true, false or null, by the rules of Kubernetes' tools
// (sigs.k8s.io/yaml, YAML 1.1 with what Go's parser leaves of it). Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <string>

namespace vfrail::plugin {

// `tag` as yaml-cpp gives it: "?" for a plain scalar, "!" for one in quotation marks or a block.
Result<Json> read_yaml_scalar(const std::string& tag, const std::string& text);

}  // namespace vfrail::plugin
