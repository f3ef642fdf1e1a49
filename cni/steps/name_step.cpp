#include "cni/steps/name_step.h"

#include "cni/node/boot.h"
#include "cni/node/device.h"
#include "common/errors/error_id.h"

#include <algorithm>
#include <cerrno>

namespace vfrail::cni {

namespace {

// Those that cannot be read are empty: they are written again, or removed.
Result<std::optional<DisplacedNames>> load(const std::string& device_key, const World& world) {
  auto names = load_displaced(world.store, device_key);
  if (names || names.error().code != Errc::protocol) return names;
  world.log.warning("the names that a device had cannot be read, it keeps those it has",
                    {{"reason", names.error().text}, {"id", names.error().id_text()}});
  return std::optional(DisplacedNames());
}

Result<> note(const Record& record, std::vector<DisplacedName> DisplacedNames::*kind, DisplacedName name,
              const World& world) {
  auto names = TRY(load(record.device_key, world)).value_or(DisplacedNames());
  if (names.boot_id != record.boot_id) names = DisplacedNames{record.boot_id};
  add_displaced(std::move(name), names.*kind);
  return save_displaced(world.store, record.device_key, names);
}

void warn(const std::string& device_key, const Error& error, const World& world) {
  world.log.warning("a device does not get its own name back",
                    {{"device", device_key}, {"reason", error.text}, {"id", error.id_text()}});
}

// Refused, and it may be accepted another time.
bool stays(const Result<>& renamed, const std::string& own, const World& world) {
  if (renamed) return false;
  world.log.info("a device still cannot have its own name",
                 {{"name", own}, {"reason", renamed.error().text}});
  return true;
}

std::string sentence(const char* what, const DisplacedName& name) {
  return std::string(what) + " " + name.now + " is " + name.own + " again";
}

// Whether the name stays noted.
Result<bool> restore_link_name(const std::string& device_key, const DisplacedName& name, World& world,
                               std::vector<std::string>& out) {
  const auto link = TRY(world.host.find_link(name.now));
  const bool its =
      link && link->name == name.now && (link->index == name.index || link->parent_device == device_key);
  if (!its) return false;
  if (TRY(world.host.find_link(name.own))) return true;
  if (stays(world.host.change_link(link->index, {.name = name.own}), name.own, world)) return true;
  out.push_back(sentence("interface", name));
  return false;
}

Result<bool> restore_rdma_name(const std::string& device_key, const DisplacedName& name, World& world,
                               std::vector<std::string>& out) {
  const auto devices = TRY(world.host.rdma_devices(), "list the RDMA devices of the host");
  const auto its = std::find_if(devices.begin(), devices.end(), [&](const RdmaDevice& one) {
    return int64_t{one.index} == name.index && one.name == name.now;
  });
  if (its == devices.end()) {
    // A list can lack a device while others move (Kernel::rdma_devices()).
    const auto id = DeviceId::parse(device_key);
    const auto names = id ? TRY(read_rdma_names(world.sys, *id)) : std::vector<std::string>();
    return std::find(names.begin(), names.end(), name.now) != names.end();
  }
  if (stays(world.host.rename_rdma_device(its->index, name.own), name.own, world)) return true;
  out.push_back(sentence("RDMA device", name));
  return false;
}

// Frees `name` if `holder` is the interface of another attached device and did not have that name before its
// attachment: its pod set it, as the name or an alternative name, and the namespace has ended; or the kernel
// chose it for an interface that a rebind or an RDMA move created. The other device's DEL finds its interface
// by its properties. The request names the interface, because that DEL can run at the same time: an interface
// that it has removed or renamed since must not be renamed by its index. Returns whether the name is free.
Result<bool> free_name(const Link& holder, const IfName& name, World& world) {
  if (holder.parent_device.empty()) return false;
  const auto owner = TRY(world.store.owner(holder.parent_device));
  if (!owner) return false;
  const auto record = world.store.load(*owner);
  // A damaged one is for its own verbs and a sweep; without any other, its device cannot be renamed.
  if (!record && record.error().code != Errc::protocol) return record.error();
  if (!record || !*record || !(*record)->link) return false;
  const LinkBefore& its = *(*record)->link;
  if (its.name == name ||
      std::find(its.altnames.begin(), its.altnames.end(), name.text()) != its.altnames.end())
    return false;
  const auto freed = holder.name == name ? world.host.rename_link(name, kFallbackName)
                                         : world.host.remove_altname(holder.index, name);
  if (freed) {
    world.log.info("the interface's name was freed, which another attached device had",
                   {{"name", name}, {"other", holder.parent_device}});
    return true;
  }
  if (freed.error().sys == ENODEV || freed.error().sys == ENOENT) return true;
  world.log.info("the interface's name cannot be freed, which another attached device has",
                 {{"name", name}, {"other", holder.parent_device}, {"reason", freed.error().text}});
  return false;
}

void warn_name_taken(const Record& record, const std::string& holder, const World& world) {
  world.log.warning("the interface was restored under another name, because its own is in use",
                    {{"device", record.device_key},
                     {"name", record.link->name},
                     {"taken_by", holder},
                     {"id", id_text(ErrorId::host_name_taken)}});
}

}  // namespace

Result<std::string> name_in_host(const Record& record, const std::optional<Link>& holder,
                                 const std::optional<int>& own_index, World& world) {
  const LinkBefore& before = *record.link;
  if (!holder || holder->index == own_index) return before.name.text();
  if (TRY(free_name(*holder, before.name, world))) return before.name.text();
  warn_name_taken(record, holder->name, world);
  return std::string(kFallbackName);
}

Result<std::optional<std::string>> own_name(const Record& record, const Link& now, bool last_try,
                                            World& world) {
  const IfName& own = record.link->name;
  const auto holder = TRY(world.host.find_link(own));
  if (last_try) {
    warn_name_taken(record, holder ? holder->name.text() : "", world);
  } else if (TRY(name_in_host(record, holder, now.index, world)) == own) {
    return std::optional(own.text());
  }
  note_displaced_link(record, {own, now.name, now.index}, world);
  return std::optional<std::string>();
}

void note_displaced_link(const Record& record, DisplacedName name, World& world) {
  const auto noted = note(record, &DisplacedNames::links, std::move(name), world);
  if (!noted) warn(record.device_key, noted.error(), world);
}

void note_displaced_rdma(const Record& record, DisplacedName name, World& world) {
  const auto noted = note(record, &DisplacedNames::rdma, std::move(name), world);
  if (!noted) warn(record.device_key, noted.error(), world);
}

namespace {

// A sentence for each name.
Result<std::vector<std::string>> restore_free_names(const std::string& device_key, World& world) {
  std::vector<std::string> out;
  const auto names = TRY(load(device_key, world));
  if (!names) return out;
  DisplacedNames left{names->boot_id};
  if (names->boot_id == TRY(this_boot(world.sys))) {
    for (const DisplacedName& one : names->links) {
      if (TRY(restore_link_name(device_key, one, world, out))) left.links.push_back(one);
    }
    for (const DisplacedName& one : names->rdma) {
      if (TRY(restore_rdma_name(device_key, one, world, out))) left.rdma.push_back(one);
    }
  }
  if (left != *names || left.empty()) TRY(save_displaced(world.store, device_key, left));
  return out;
}

}  // namespace

void restore_names(const std::string& device_key, World& world) {
  const auto names = restore_free_names(device_key, world);
  if (!names) return warn(device_key, names.error(), world);
  for (const std::string& name : *names)
    world.log.info("a name is free again", {{"device", device_key}, {"name", name}});
}

Result<std::vector<Renamed>> restore_all_names(World& world) {
  std::vector<Renamed> out;
  const auto restore = [&](const std::string& key) -> Result<> {
    const auto lock = TRY(world.store.lock_device(key, world.lock_timeout), "wait for " + key);
    if (TRY(world.store.owner(key))) return {};
    auto names = TRY(restore_free_names(key, world), "restore the names of " + key);
    if (!names.empty()) out.push_back({key, std::move(names)});
    return {};
  };
  for (const std::string& key : TRY(displaced_devices(world.store))) {
    const auto restored = restore(key);
    if (!restored) warn(key, restored.error(), world);
  }
  return out;
}

}  // namespace vfrail::cni
