// Refusal: why a resource does not take a function: a sentence for people, and the id that `vfrail explain`
// explains. Pure.
#pragma once

#include "common/errors/error_id.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct Refusal {
  ErrorId id;
  std::string text;
  std::string resource = {};  // that would have it, were the host not to use it

  bool operator==(const Refusal&) const = default;
};

// The sentences alone.
std::vector<std::string> texts_of(const std::vector<Refusal>& refusals);
// The ids, each once: "VF-HOST-USES-DEVICE".
std::vector<std::string> ids_of(const std::vector<Refusal>& refusals);

}  // namespace vfrail::plugin
