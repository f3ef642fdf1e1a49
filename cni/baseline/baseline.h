// Baseline: what a device was before its first attachment since the boot, beyond what each attachment's
// record keeps, as far as a pod can change it. Read once, written before the first change, compared when the
// device is back in the host. What cannot be restored makes the device unclean: that is recorded, `vfrail
// serve` advertises it unhealthy, and no ADD attaches it until it is clean.
#pragma once

#include "cni/baseline/interface_files.h"
#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/kernel/ethtool.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::cni {

struct Baseline {
  std::string boot_id;
  std::string device_key;
  std::optional<DeviceId> device;
  std::optional<uint32_t> port;
  // The netdev at its last attachment. Another index in the host than this means another netdev (its driver
  // was bound again, the VF was created again): then all is read again.
  LinkBefore link = {};
  uint16_t ethtool_family = 0;                           // Kernel::ethtool_family(); 0: none
  std::map<EthtoolGroup, EthtoolSettings> ethtool = {};  // the groups that the driver has
  InterfaceFiles files = {};
  std::optional<VfBefore> vf = {};  // what the PF's driver refused to restore; only while it is unclean
  bool operator==(const Baseline&) const = default;
};

std::string format_baseline(const Baseline& baseline);
Result<Baseline> parse_baseline(std::string_view text);

// An unclean device whose interface is not in the host: the kernel may be about to return it from an ended
// namespace, or another plugin has it.
enum class IfAway : uint8_t { wait, leave };

// Under the device's lock, before an ADD reads its state: an unclean device is restored now. Errc::busy, with
// the reasons, if that fails, or if it does not come.
Result<> refuse_unclean(const std::string& device_key, IfAway if_away, World& world);

// Before the first change of an ADD, under the device's lock: writes a baseline, unless there is one.
Result<> prepare_baseline(const Record& record, World& world);

// After the device of an attachment is back in the host, under the device's lock: restores what differs from
// the baseline, and clears or writes the device's unclean state. `refused` is what restore_vf_identity() and
// restore_vf_policy() returned, `remains` what clear_interface() did. An error is a failure to read or to
// record it: the caller must not take the device for clean.
Result<> restore_baseline(const Record& record, const VfSettings& refused, std::vector<std::string> remains,
                          World& world);

// After a device without a record is back in the host, under the device's lock: restores what differs from
// its baseline, if it has one. The device is unclean until that has succeeded.
Result<> restore_unrecorded(const std::string& device_key, World& world);

// Before a record that cannot be read is quarantined: what its pod had is unclean, until it has been compared
// with its baseline. Under the lock of the attachment, or of the device.
Result<> distrust_devices_of(const AttachmentName& name, World& world);

// A device that was unclean, after one more attempt to restore it.
struct Cleaned {
  std::string device_key;
  std::vector<std::string> reasons;  // empty: it is clean now
};
// Tries once more to restore every unclean device that no attachment has, whichever of them fails. Takes the
// lock of each.
Result<std::vector<Cleaned>> restore_all_unclean(World& world);

// Removes the baselines of earlier boots, and unreadable ones. Returns how many were removed.
Result<size_t> remove_void_baselines(World& world);

}  // namespace vfrail::cni
