#include "cni/verbs/attachment.h"
#include "cni/verbs/release.h"
#include "cni/verbs/verbs.h"

namespace vfrail::cni {

namespace {

// A record that cannot be read blocks nothing: it is quarantined, and DEL goes on without it.
Result<std::optional<Record>> load_record(const AttachmentName& name, World& world) {
  auto record = world.store.load(name);
  if (record || record.error().code != Errc::protocol) return record;
  world.log.error("the record cannot be read, it is quarantined",
                  {{"reason", record.error().text}, {"id", record.error().id_text()}});
  TRY(quarantine(name, world));
  return std::optional<Record>();
}

}  // namespace

Result<> del(const Request& request, World& world) {
  const AttachmentName name{request.container_id, request.ifname};
  const auto lock = TRY(lock_attachment(name, "DEL", world));
  const Holdings held = TRY(find_holdings(TRY(load_record(name, world)), request, world));
  TRY(release(held, world));
  world.log.info("detached", {{"device", held.record ? held.record->device_key : "-"}});
  return {};
}

}  // namespace vfrail::cni
