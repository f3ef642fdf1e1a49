#include "plugin/service/dra/health_list.h"

namespace vfrail::plugin {

HealthList make_health_list(const std::string& node_pool, const OfferedUnits& offered) {
  HealthList out{node_pool, {}};
  if (node_pool.empty()) return out;
  for (const auto& [name, offer] : offered.by_name) {
    const Unit* unit = offer.pool.find_unit(offer.unit);
    if (unit != nullptr) out.devices.push_back({name, cut_text(unit->fault, kMaxHealthText)});
  }
  return out;
}

std::string cut_text(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end));
}

}  // namespace vfrail::plugin
