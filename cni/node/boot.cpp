#include "cni/node/boot.h"

namespace vfrail {

// Not "none": every record would be of an earlier boot, after which there is nothing to restore.
Result<std::string> boot_id(const SysRoot& sys) {
  constexpr const char* kFile = "proc/sys/kernel/random/boot_id";
  auto out = TRY(sys.text(kFile), "");
  if (out && !out->empty()) return std::move(*out);
  return Error{Errc::not_found, 0,
               sys.path(kFile) + " is not there, so it is not known what is of this boot"};
}

Result<bool> from_this_boot(const Record& record, const World& world) {
  return record.boot_id == TRY(boot_id(world.sys), "");
}

bool ended_with_its_host(const Record& record, const World& world) {
  const bool other_host = record.host_netns && *record.host_netns != world.host.netns_id();
  return other_host && record.link && record.link->ends_with_its_namespace();
}

}  // namespace vfrail
