#include "cni/node/boot.h"

namespace vfrail::cni {

Result<std::string> this_boot(const SysRoot& sys) {
  std::string out = TRY(boot_id(sys));
  if (!out.empty()) return out;
  return Error{
      Errc::not_found, 0,
      sys.path("proc/sys/kernel/random/boot_id") + " is not there, so it is not known what is of this boot"};
}

Result<bool> from_this_boot(const Record& record, const World& world) {
  return record.boot_id == TRY(this_boot(world.sys));
}

bool ended_with_its_host(const Record& record, const World& world) {
  const bool other_host = record.host_netns && *record.host_netns != world.host.netns_id();
  return other_host && record.link && record.link->ends_with_its_namespace();
}

}  // namespace vfrail::cni
