#include "cni/node/boot.h"

namespace vfrail {

Result<bool> from_this_boot(const Record& record, const World& world) {
  return record.boot_id == TRY(boot_id(world.sys), "");
}

bool ended_with_its_host(const Record& record, const World& world) {
  const bool other_host = record.host_netns && *record.host_netns != world.host.netns_id();
  return other_host && record.link && record.link->ends_with_its_namespace();
}

}  // namespace vfrail
