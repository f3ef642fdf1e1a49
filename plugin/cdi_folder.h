// The folder of CDI specs: made, tidied, written to. Touches our own files only (common/cdi_spec.h).
//
// When a spec may go: as long as kubelet may start a container of the pod again, which it does from the
// answer to Allocate that it remembers, without asking anybody; and nobody tells us when the pod is gone. So
// a spec stays when the plugin stops or starts, as what kubelet remembers does. It goes when its device is
// allocated again (another takes its place), when its device has left the node, and at boot. What stays is
// a file for each device at most, and harmless: only what kubelet remembers asks for it.
#pragma once

#include "common/cdi_spec.h"

#include <functional>
#include <string>
#include <vector>

namespace vfrail {

// Makes it, and removes what killed processes left half-written. An error names the folder and the remedy.
Result<> open_cdi_folder(const std::string& folder);

// Writes the spec. Two calls at the same time, also for the same device, are fine.
Result<> put_cdi_spec(const std::string& folder, const CdiSpec& spec);

// Removes the specs of devices whose ids `is_there` does not know. Best effort; the names of what went.
std::vector<std::string> remove_specs_of_gone_devices(
    const std::string& folder, const std::function<bool(const std::string& device_id)>& is_there);

}  // namespace vfrail
