#include "plugin/config/devlink_reach.h"

#include "common/error_id.h"
#include "common/text.h"

namespace vfrail {

std::vector<std::string> find_devlink_gaps(const SysRoot& sys, const Config& config) {
  if (sys.path("") == "/") return {};
  std::vector<std::string> wanted;
  for (const ResourceConfig& resource : config.resources) {
    if (resource.health.devlink) wanted.push_back(resource.resource());
  }
  if (wanted.empty()) return {};
  return {text_with_id(
      "devlink is not asked with --root " + sys.path("") + ", so that health.devlink has no effect for " +
          joined(wanted, ", ") +
          ": it needs --root / in the host's network namespace; \"devlink\": false in health ends this line",
      ErrorId::devlink_not_asked)};
}

}  // namespace vfrail
