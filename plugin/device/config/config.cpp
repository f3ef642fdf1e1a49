#include "plugin/device/config/config.h"

namespace vfrail::plugin {

bool shares(const ResourceConfig& resource) {
  return resource.unit == UnitKind::shared || resource.unit == UnitKind::shared_one;
}

const char* type_name(DeviceType type) {
  if (type == DeviceType::net_device) return "netDevice";
  return type == DeviceType::aux_net_device ? "auxNetDevice" : "accelerator";
}

std::string SkippedEntry::text() const { return text_with_id(reason, id); }

}  // namespace vfrail::plugin
