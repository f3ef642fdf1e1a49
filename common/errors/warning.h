// Warning: a sentence about what is accepted, or served nevertheless, with its id and what it is about: each
// a field of its own in the log, and one line for people.
#pragma once

#include "common/errors/error_id.h"

#include <string>
#include <vector>

namespace vfrail {

struct Warning {
  std::string text;
  ErrorId id;
  std::string resource = {};  // "nvidia.com/hostdev"; empty: not about one
  std::string device = {};    // "0000:3b:00.2"

  std::string line() const { return text_with_id(text, id); }
  bool operator==(const Warning&) const = default;
};

inline std::vector<std::string> lines_of(const std::vector<Warning>& warnings) {
  std::vector<std::string> out;
  for (const Warning& warning : warnings) out.push_back(warning.line());
  return out;
}

}  // namespace vfrail
