// provision_run(): does what a plan says, a card beside the other, the functions of one card in turn. Decides
// nothing but how to go on after an error: whatever fails, sriov_drivers_autoprobe is restored.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/device/provisioning/progress.h"
#include "plugin/provision/autoprobe_record.h"
#include "plugin/provision/plan.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

// sriov-network-operator's users met a sriov_numvfs that never returned, and have two minutes since; 125 VFs
// took 65 s with all drivers bound.
inline constexpr std::chrono::milliseconds kWriteDeadline{120'000};
// The links to the VFs are there when the write returns, on most platforms.
inline constexpr std::chrono::milliseconds kVfsDeadline{120'000};

struct ProvisionWorld {
  SysRoot sys;
  AutoprobeRecords records;
  ProgressRecords progress;
  bool drains = false;  // it runs again when pods have ended (Obstacle::drains)
  // A file of sysfs by its path: timed_write() with a deadline.
  std::function<Result<>(const std::string& path, std::string_view text)> write;
  // Of the host's network namespace; each card has its own. Null: none is there, as in a captured tree.
  std::function<Result<std::unique_ptr<Kernel>>()> open_kernel;
  std::function<Result<>(const PciAddress& pf, EswitchMode mode)> set_eswitch;
  std::chrono::milliseconds vfs_deadline = kVfsDeadline;
};

struct PfResult {
  PciAddress pf;
  std::vector<ProvisionStep> done;  // in their order
  std::vector<Error> failures;      // empty: all is done
};

// What serve is to know of it. `drains` as in ProvisionWorld.
Progress progress_of(const PfPlan& plan, const PfResult& result, bool drains);

// In the order of plan.pfs. The progress of each is written when it begins and as soon as it ends.
std::vector<PfResult> provision_run(const ProvisionPlan& plan, const ProvisionWorld& world);

}  // namespace vfrail::plugin
