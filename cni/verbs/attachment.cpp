#include "cni/verbs/attachment.h"

#include "cni/baseline/baseline.h"

namespace vfrail::cni {

Result<FileLock> lock_attachment(const AttachmentName& name, const std::string& verb, World& world) {
  auto lock = world.store.lock_attachment(name, verb, world.lock_timeout);
  if (lock) return lock;
  const bool held = lock.error().code == Errc::busy;
  return std::move(lock.error())
      .in((held ? "wait for the verb that is under way on " : "lock ") + name.ifname + " of container " +
          name.container_id);
}

Result<> quarantine(const AttachmentName& name, World& world) {
  TRY(distrust_devices_of(name, world));
  return world.store.quarantine(name);
}

Result<bool> quarantine_unreadable(const AttachmentName& name, World& world) {
  const auto lock = TRY(lock_attachment(name, "clean-up", world));
  const auto record = world.store.load(name);
  if (record || record.error().code != Errc::protocol) return false;
  TRY(quarantine(name, world));
  return true;
}

}  // namespace vfrail::cni
