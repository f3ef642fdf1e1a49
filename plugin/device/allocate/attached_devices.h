// Which devices pods have by vfrail-cni's records of this boot. Reads only.
#pragma once

#include "common/node/attachment_record.h"
#include "common/result.h"
#include "plugin/device/allocate/prepare.h"

namespace vfrail::plugin {

// What an earlier boot has attached is back in the host. Empty without AllocatePlaces::cni_state_dir.
Result<AttachedDevices> attached_devices(const AllocatePlaces& places);

}  // namespace vfrail::plugin
