#include "plugin/device/allocate/attached_devices.h"

#include "common/node/attachments.h"

#include <iterator>

namespace vfrail::plugin {

Result<AttachedDevices> attached_devices(const AllocatePlaces& places) {
  if (places.cni_state_dir.empty()) return AttachedDevices();
  const Attachments attachments(places.cni_state_dir);
  auto out = TRY(attachments.owners(), "read which devices pods have");
  const std::string boot = TRY(boot_id(places.sys));
  for (auto at = out.begin(); at != out.end();) {
    const auto record = attachments.load(at->second);
    // One that cannot be read may be of this boot.
    const bool earlier = record && *record && !boot.empty() && (*record)->boot_id != boot;
    at = earlier ? out.erase(at) : std::next(at);
  }
  return out;
}

}  // namespace vfrail::plugin
