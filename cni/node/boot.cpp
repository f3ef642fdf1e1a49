#include "cni/node/boot.h"

namespace vfrail {

Result<std::string> boot_id(const SysRoot& sys) {
  return TRY(sys.text("proc/sys/kernel/random/boot_id"), "").value_or("");
}

Result<bool> from_this_boot(const Record& record, const World& world) {
  return record.boot_id == TRY(boot_id(world.sys), "");
}

}  // namespace vfrail
