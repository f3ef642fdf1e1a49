// ConfigWarnings: what is odd in a configuration but does not stop it: unknown keys (errors under
// --strict-config) and values that can never match. Collects; prints nothing.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

enum class KeyPlace : uint8_t { top_level, resource, health, selector };

class ConfigWarnings {
 public:
  // `where` is put before each warning; `out` must outlive the object.
  ConfigWarnings(std::string where, bool strict, std::vector<std::string>& out)
      : where_(std::move(where)), strict_(strict), out_(out) {}

  // "what" about the value at `path`.
  void remark(std::string_view path, std::string_view what);
  // One warning for each key that `reader` was never asked for and that is not null; under strict the first
  // is an error. In a selector a key that is nearly one of the known ones is always an error: without it the
  // selector would select more than it was written for.
  Result<> unknown_keys(ObjectReader& reader, KeyPlace place);

 private:
  std::string where_;
  bool strict_;
  std::vector<std::string>& out_;
};

// Exactly, as far as case is concerned too.
bool is_selector_name(const std::string& key);

}  // namespace vfrail
