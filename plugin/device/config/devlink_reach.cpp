#include "plugin/device/config/devlink_reach.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/device/config/selector_table.h"
#include "plugin/device/inventory/host_kernel.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

constexpr const char* kDdpProfiles = "ddpProfiles";
// Its devlink_ops report other versions alone (i40e_devlink_info_get() in the kernel).
constexpr const char* kWithoutDdpVersion = "i40e";

bool compares_ddp(const Selector& selector) { return !selector.list(kDdpProfiles).empty(); }

template <class Wants>
std::vector<std::string> resources_that(const Config& config, Wants wants) {
  std::vector<std::string> out;
  for (const ResourceConfig& resource : config.resources) {
    if (wants(resource)) out.push_back(resource.resource());
  }
  return out;
}

std::vector<std::string> resources_with_ddp(const Config& config) {
  return resources_that(config, [](const ResourceConfig& resource) {
    return std::any_of(resource.selectors.begin(), resource.selectors.end(), compares_ddp);
  });
}

// devlink is asked for the function, then for its PF.
bool reports_no_ddp(const DeviceFacts& function, const Inventory& inventory) {
  if (!function.ddp_profile.empty()) return false;
  if (function.driver.name() == kWithoutDdpVersion) return true;
  return function.pf &&
         std::any_of(inventory.functions.begin(), inventory.functions.end(), [&](const DeviceFacts& other) {
           return other.id == DeviceId(*function.pf) && other.driver.name() == kWithoutDdpVersion;
         });
}

// Whether the selector's other conditions select it.
bool misses_ddp_alone(const Selector& selector, const DeviceFacts& function) {
  Selector others = selector;
  others.lists.erase(kDdpProfiles);
  return compares_ddp(selector) && selects(others, function);
}

}  // namespace

std::vector<Warning> find_devlink_gaps(const SysRoot& sys, const Config& config) {
  if (sys.path("") == "/" || is_host_netns(sys).value_or(false)) return {};
  std::vector<Warning> out;
  const auto add = [&](const std::string& without, const std::vector<std::string>& resources,
                       const std::string& remedy, ErrorId id) {
    if (resources.empty()) return;
    out.push_back({"devlink is not asked with --root " + sys.path("") +
                       " outside the host's network namespace, so that " + without + " for " +
                       joined(resources, ", ") + ": " + remedy,
                   id, joined(resources)});
  };
  add("health.devlink has no effect",
      resources_that(config, [](const ResourceConfig& resource) { return resource.health.devlink_demanded; }),
      "it needs hostNetwork: true; without \"devlink\": true in health it is asked where it can be",
      ErrorId::devlink_not_asked);
  add("ddpProfiles match no device", resources_with_ddp(config),
      "they need hostNetwork: true; without it select by pfNames or pciAddresses", ErrorId::config_doubtful);
  return out;
}

std::vector<Warning> find_ddp_gaps(const Config& config, const Inventory& inventory) {
  std::vector<Warning> out;
  for (const ResourceConfig& resource : config.resources) {
    std::vector<std::string> ids;
    for (const DeviceFacts& function : inventory.functions) {
      const bool misses =
          std::any_of(resource.selectors.begin(), resource.selectors.end(),
                      [&](const Selector& selector) { return misses_ddp_alone(selector, function); });
      if (misses && reports_no_ddp(function, inventory)) ids.push_back(function.id.text());
    }
    if (!ids.empty())
      out.push_back({"ddpProfiles of " + resource.resource() + " do not match " + first_few(ids) +
                         ", whatever is loaded: the driver i40e does not report its DDP package "
                         "to devlink; select them by pfNames or pciAddresses",
                     ErrorId::config_doubtful, resource.resource()});
  }
  return out;
}

std::vector<std::string> describe_ddp_reach(const Config& config) {
  const auto ddp = resources_with_ddp(config);
  if (ddp.empty()) return {};
  return {"ddpProfiles of " + joined(ddp, ", ") +
          " are compared with fw.app.name, as devlink reports it: they match no device of a driver that does "
          "not report it (i40e), and none where devlink is not asked (outside the host's network namespace)"};
}

}  // namespace vfrail::plugin
