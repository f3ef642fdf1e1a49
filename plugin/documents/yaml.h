// YAML as Kubernetes' tools read it, into the values of common/json.h, each with its line. Everything is
// bounded: a text of 1 MiB can otherwise mean gigabytes, by its aliases or by what a parser keeps of it.
// yaml.cpp is the only user of yaml-cpp.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

inline constexpr size_t kMaxYamlBytes = 1 << 20;  // as much as a ConfigMap holds
inline constexpr size_t kMaxYamlDocuments = 256;
inline constexpr size_t kMaxYamlDepth = 64;           // as deep as JSON
inline constexpr size_t kMaxYamlValues = 50'000;      // the copies that aliases make included
inline constexpr size_t kMaxYamlTextBytes = 4 << 20;  // of all values together, with those copies
// yaml-cpp keeps 240 bytes for each bracket, brace and comma of a line before it reports what they are.
inline constexpr size_t kMaxYamlIndicators = 100'000;

// The documents, also empty ones (null), so that the index is the number that a reader of the file counts.
// Errors: "document 2: line 7, column 3: ...".
Result<std::vector<Json>> read_yaml(std::string_view text, TextLines lines = {});

}  // namespace vfrail::plugin
