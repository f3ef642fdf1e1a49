// Whether a text of JSON is as a JSON Schema (draft 4) says.
#pragma once

#include <string>

namespace vfrail::test {

// Empty if it is; else what is against which part of the schema: "#/devices/0: additionalProperties of
// #/definitions/device".
std::string schema_violation(const std::string& schema, const std::string& json);

}  // namespace vfrail::test
