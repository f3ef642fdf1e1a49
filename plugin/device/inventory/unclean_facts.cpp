#include "plugin/device/inventory/unclean_facts.h"

#include "common/node/attachments.h"
#include "common/node/unclean.h"
#include "common/text.h"

namespace vfrail::plugin {

Result<std::string> find_boot_id(const SysRoot& sys) {
  std::string of_tree = TRY(boot_id(sys));
  return of_tree.empty() ? boot_id(SysRoot()) : std::move(of_tree);
}

Result<> add_unclean(const SysRoot& sys, const std::string& cni_state_dir, Inventory& inventory) {
  if (cni_state_dir.empty()) return {};
  const std::string boot = TRY(find_boot_id(sys));
  const auto unclean = TRY(read_unclean(cni_state_dir, boot), "read the state of vfrail-cni");
  if (unclean.empty()) return {};
  for (DeviceFacts& function : inventory.functions) {
    const auto found = unclean.find(function.id.text());
    if (found != unclean.end()) function.unclean = joined(found->second, "; ");
  }
  return {};
}

}  // namespace vfrail::plugin
