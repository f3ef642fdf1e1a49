#include "plugin/device/inventory/node_devices.h"

#include <string>

namespace vfrail::plugin {

Result<bool> has_device_node(const SysRoot& sys, std::string_view name) {
  if (TRY(sys.exists("dev/" + std::string(name)))) return true;
  const std::string device = "/" + std::string(name.substr(name.rfind('/') + 1));
  const std::string classes = "sys/class";
  // Nearly all of the requested ones exist.
  if (TRY(sys.exists(classes + "/misc" + device))) return true;
  const auto all = TRY(sys.list(classes));
  for (const std::string& one : all.value_or(SysRoot::Names())) {
    if (TRY(sys.exists(classes + "/" + one + device + "/dev"))) return true;
  }
  return false;
}

}  // namespace vfrail::plugin
