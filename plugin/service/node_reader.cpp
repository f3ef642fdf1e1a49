#include "plugin/service/node_reader.h"

#include "common/errors/error_id.h"
#include "plugin/device/config/devlink_reach.h"
#include "plugin/device/inventory/host_view.h"
#include "plugin/device/inventory/unclean_facts.h"
#include "plugin/device/provisioning/withheld.h"

#include <utility>

namespace vfrail::plugin {

// A reading of a part that fails leaves it open what the node is like: the whole says it.
Result<Inventory> NodeReader::read_inventory(const Changed& changed) {
  if (last_ && !changed.everything) {
    auto last = *std::exchange(last_, std::nullopt);
    auto read = rescan(sys_, host_, std::move(last), changed);
    if (read) return read;
  }
  last_.reset();  // before its successor is in memory
  return scan(sys_, host_);
}

// Without the folder the devices are allocated as if nobody provisioned them: one that is not mounted must
// not end serve.
std::optional<std::chrono::seconds> NodeReader::withhold(const VfsConfig& config,
                                                         Inventory& inventory) const {
  const auto read = [&]() -> Result<std::optional<std::chrono::seconds>> {
    const ProgressRecords records(provision_dir_, TRY(find_boot_id(sys_)));
    const auto now = boot_time();
    // What is left is not read: nothing here would make it right again.
    if (config.entries.empty()) {
      TRY(forget_progress(records, now));
      return std::optional<std::chrono::seconds>();
    }
    for (Warning& remark : TRY(await_provision(config, records, sys_, now, inventory)))
      inventory.warnings.push_back(std::move(remark));
    return add_withheld(records, now, inventory);
  };
  auto until = read();
  if (until) return *until;
  if (config.entries.empty()) return std::nullopt;
  inventory.warnings.push_back(
      {"how far `vfrail provision` is with the VFs of `vfs` is not known, so none is "
       "withheld: " +
           until.error().text,
       ErrorId::provision_pending});
  return std::nullopt;
}

Result<Pools> NodeReader::read(const Config& config, const Changed& changed) {
  last_ = TRY(read_inventory(changed), "scan the PCI functions");
  Inventory inventory = *last_;
  if (const std::string blind = TRY(check_host_view(sys_, inventory)); !blind.empty())
    return Error{Errc::wrong_netns, 0, blind, ErrorId::host_not_visible};
  TRY(add_unclean(sys_, cni_state_dir_, inventory));
  const auto again_at = withhold(config.vfs, inventory);
  Pools pools = match(config, inventory);
  pools.again_at = again_at;
  pools.warnings.insert(pools.warnings.end(), inventory.warnings.begin(), inventory.warnings.end());
  for (Warning& gap : find_devlink_gaps(sys_, config)) pools.warnings.push_back(std::move(gap));
  for (Warning& gap : find_ddp_gaps(config, inventory)) pools.warnings.push_back(std::move(gap));
  return pools;
}

}  // namespace vfrail::plugin
