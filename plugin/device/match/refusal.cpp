#include "plugin/device/match/refusal.h"

#include <algorithm>

namespace vfrail::plugin {

std::vector<std::string> texts_of(const std::vector<Refusal>& refusals) {
  std::vector<std::string> out;
  for (const Refusal& refusal : refusals) out.push_back(refusal.text);
  return out;
}

std::vector<std::string> ids_of(const std::vector<Refusal>& refusals) {
  std::vector<std::string> out;
  for (const Refusal& refusal : refusals) {
    const std::string id = id_text(refusal.id);
    if (std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
  }
  return out;
}

}  // namespace vfrail::plugin
