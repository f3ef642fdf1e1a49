#include "plugin/provision/vfio.h"

namespace vfrail::plugin {

Result<std::optional<bool>> open_by_vfio(const DeviceFolder& function) {
  const auto enabled = TRY(function.number("enable"));
  return enabled ? std::optional(*enabled != 0) : std::optional<bool>();
}

}  // namespace vfrail::plugin
