// Which VFs are withheld from pods because `vfrail provision` has not done with their PF, and since when
// serve waits for it. Reads the progress of provision; await_provision() writes since when.
#pragma once

#include "common/errors/warning.h"
#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/device/config/vfs.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/provisioning/progress.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// The first entry that the PF matches; null: none. `serial` is the card's; empty: not read.
const VfsEntry* entry_of(const VfsConfig& config, const PciAddress& pf, const std::string& name,
                         const std::string& serial);

// The keyword SN of a card's vital product data (file "vpd"); empty if it has none. Pure.
std::string parse_vpd_serial(std::string_view vpd);

// Marks the VFs that are withheld (DeviceFacts::provisioning). One that is in a pod is not: it was made
// before. Returns when one of them no longer is, without an event (CLOCK_BOOTTIME).
Result<std::optional<std::chrono::seconds>> add_withheld(const ProgressRecords& records,
                                                         std::chrono::seconds now, Inventory& inventory);

// What there is to say about each PF that provision has not simply done with, for reports, which do not know
// whether it still has an entry.
Result<std::vector<Warning>> provision_remarks(const ProgressRecords& records, std::chrono::seconds now,
                                               const Inventory& inventory);

// Of each PF that has an entry, why its VFs are withheld or not as they are wanted. One of which provision
// has written nothing since the node's start is awaited from now on, which is recorded.
Result<std::vector<Warning>> await_provision(const VfsConfig& config, const ProgressRecords& records,
                                             const SysRoot& sys, std::chrono::seconds now,
                                             const Inventory& inventory);

// Without an entry in `vfs`: removes what is written of PFs, as far as it withholds nothing. Another
// configuration, which reaches provision before serve, can have it at work on them.
Result<> forget_progress(const ProgressRecords& records, std::chrono::seconds now);

}  // namespace vfrail::plugin
