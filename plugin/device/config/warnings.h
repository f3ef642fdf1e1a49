// ConfigWarnings: what is suspicious in a configuration but accepted: unknown keys (errors under
// --strict-config) and values that can never match. Mistakes are those of them that make a selection wider
// than it was written, or empty: errors for `vfrail check-config`. Collects; prints nothing.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "plugin/device/config/config.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

enum class KeyPlace : uint8_t { top_level, resource, health, selector };

class ConfigWarnings {
 public:
  // `where` is put before each warning; `out` must outlive the object.
  ConfigWarnings(std::string where, bool strict, Config& out)
      : where_(std::move(where)), strict_(strict), out_(out) {}

  // "what" about the value of that key. A mistake is an error for check-config.
  void remark(const ObjectReader& reader, std::string_view key, std::string_view what,
              ErrorId id = ErrorId::config_doubtful);
  void mistake(const ObjectReader& reader, std::string_view key, std::string_view what) {
    remark(reader, key, what, ErrorId::config_mistake);
  }
  // A mistake for each value that was written to match several names, where names are compared as they are.
  void mark_patterns(const ObjectReader& reader, std::string_view key,
                     const std::vector<std::string>& values);
  // A list of strings; empty if it is missing. A null in it counts as "", as in the peers, with a warning.
  Result<std::vector<std::string>> read_texts(ObjectReader& reader, std::string_view key);
  // One warning for each key that was never read from `reader` and that is not null; under strict the first
  // is an error. In a selector a key that is nearly one of the known ones is always an error: without it the
  // selector would select more than it was written for.
  Result<> unknown_keys(ObjectReader& reader, KeyPlace place);

 private:
  std::string where_;
  bool strict_;
  Config& out_;
};

// Whether it is the name of a selector, including case.
bool is_selector_name(const std::string& key);
// "; vendors, isRdma stand beside it and belong into it": selectors among the keys that were not read, one
// level too high. Empty: there are none.
std::string selectors_beside(const ObjectReader& reader);

}  // namespace vfrail::plugin
