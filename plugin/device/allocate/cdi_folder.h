// The folder of CDI specs: created, cleaned up, written to. Touches our own files only
// (common/container/cdi_spec.h).
//
// When a spec may be removed: as long as kubelet may start a container of the pod again, which it does from
// the answer to Allocate that it has stored, the spec is needed. So a spec stays when the plugin stops or
// starts, and when its device is removed while a container has it (it can return: a reset of the PF). It
// is removed when its device is allocated again (another spec replaces it), when its device has left the node
// and kubelet reports that no container has it, and at boot. What stays is a file for each device at most,
// and harmless: it is used only for an answer that kubelet has stored.
#pragma once

#include "common/container/cdi_spec.h"
#include "common/errors/warning.h"
#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/device/match/devices_in_use.h"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

// Creates it, and removes what killed processes left: incomplete files, specs of find_no_reader(). An error
// names the folder and the remedy.
Result<> open_cdi_folder(const std::string& folder);

// Why the specs of an open folder seem to be read by nobody; empty: a container runtime reads them. A spec of
// no device is written, which a runtime with CDI (containerd since 1.7, whose library watches the folder)
// reads within milliseconds, and removed when it has been read, or after `patience`. Where the mount keeps no
// access times nobody can know, and it is empty as well.
std::string find_no_reader(const std::string& folder, std::chrono::milliseconds patience);

// Writes the spec. Concurrent calls, also for the same device, are fine.
Result<> put_cdi_spec(const std::string& folder, const CdiSpec& spec);

struct KnownDevices {
  std::set<std::string> there;  // ids of the devices that the node had at the last scan
  DevicesInUse in_use;          // kubelet's answer, given after that scan
  SysRoot sys;                  // the node now
  std::string run_dir = {};     // where Allocate writes down which devices a unit of a bundle has
};

// The devices of the units of bundles in use, by Allocate's own word: the pool can have lost them since.
Result<std::set<std::string>> devices_of_bundles(const DevicesInUse& in_use, const std::string& run_dir);

// Removes the specs of devices, not those of claims, that the node does not have, and that no container has.
// If that is unknown the spec stays. Best effort; the names of the removed ones.
std::vector<std::string> remove_specs_of_gone_devices(const std::string& folder, const KnownDevices& known);

// Names of our specs of devices in use that have existed for five minutes and that nobody has read (by
// atime(2), as "relatime" mounts keep it; none on a mount without): a container that has the device has been
// created without its nodes, or is not created yet.
std::vector<std::string> find_unread_specs(const std::string& folder,
                                           const std::function<bool(const std::string& device_id)>& in_use);
// A sentence for each of them, with the remedy.
std::vector<Warning> warn_of_unread_specs(const std::string& folder, const DevicesInUse& in_use);

}  // namespace vfrail::plugin
