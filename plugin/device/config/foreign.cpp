#include "plugin/device/config/foreign.h"

#include "plugin/device/config/selector_table.h"

#include <algorithm>

namespace vfrail::plugin {

void ignore_foreign_fields(ResourceConfig& resource, const ObjectReader& reader, ConfigWarnings& warnings) {
  for (const SelectorField& field : selector_fields()) {
    const bool everywhere = field.types.empty();
    if (everywhere ||
        std::find(field.types.begin(), field.types.end(), resource.device_type) != field.types.end())
      continue;
    for (Selector& selector : resource.selectors) {
      if (!field.is_set(selector)) continue;
      field.clear(selector);
      const std::string what = std::string(field.key) + " has no effect with deviceType " +
                               type_name(resource.device_type) +
                               ", as in sriov-network-device-plugin: it is ignored";
      warnings.remark(reader, "selectors", what,
                      field.matches ? ErrorId::config_mistake : ErrorId::config_doubtful);
    }
  }
}

}  // namespace vfrail::plugin
