#include "cni/baseline/baseline.h"
#include "cni/steps/name_step.h"
#include "cni/sweep/sweep.h"
#include "common/node/unclean.h"
#include "common/text.h"

namespace vfrail::cni {

namespace {

SweepLine line_of(const Cleaned& device) {
  if (device.reasons.empty())
    return {SweepAction::restored, device.device_key, "it is what it was before its last pod again"};
  return {SweepAction::failed, device.device_key,
          "it is not what it was before its last pod, and cannot be restored: " +
              joined(device.reasons, "; ") + "; rebind its driver, which creates a new interface"};
}

}  // namespace

Result<> sweep_baselines(World& world, const SweepOptions& options, SweepReport& report) {
  if (options.dry_run) {
    for (const auto& [key, reasons] : TRY(read_unclean(world.store.folder(), TRY(boot_id(world.sys))))) {
      report.lines.push_back({SweepAction::restored, key, joined(reasons, "; ")});
    }
    for (const std::string& key : TRY(displaced_devices(world.store)))
      report.lines.push_back({SweepAction::restored, key, "its own name in the host, if that is free"});
    return {};
  }
  for (const Cleaned& device : TRY(restore_all_unclean(world))) report.lines.push_back(line_of(device));
  for (const Renamed& device : TRY(restore_all_names(world)))
    report.lines.push_back({SweepAction::restored, device.device_key, joined(device.names)});
  const size_t removed = TRY(remove_void_baselines(world));
  if (removed > 0)
    report.lines.push_back(
        {SweepAction::removed, std::to_string(removed) + " baselines", "they are of an earlier boot"});
  return {};
}

}  // namespace vfrail::cni
