#include "cni/baseline/baseline.h"

#include "cni/baseline/baseline_store.h"
#include "cni/node/boot.h"
#include "cni/node/device.h"
#include "cni/node/find_link.h"
#include "cni/node/link_differences.h"
#include "cni/steps/link_steps.h"
#include "cni/steps/rebind_step.h"
#include "cni/steps/stacked.h"
#include "cni/steps/vf_steps.h"
#include "cni/steps/wait_step.h"
#include "common/errors/error_id.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>

namespace vfrail::cni {

namespace {

// IPoIB's netdev is created again by each move of its RDMA device, so nothing of a pod stays on it.
bool keeps_settings(const Record& record) { return record.link && !record.link->ipoib(); }

std::string file_name_of(const Record& record) { return baseline_name(record.device_key, record.port); }

// An unreadable baseline is treated as missing; the next one is written over it.
Result<std::optional<Baseline>> load(const std::string& name, World& world) {
  auto known = BaselineStore(world.store).load(name);
  if (known || known.error().code != Errc::protocol) return known;
  world.log.warning("a baseline cannot be read, it is made again",
                    {{"reason", known.error().text}, {"id", known.error().id_text()}});
  return std::optional<Baseline>();
}

// Reads only.
Result<Baseline> read_baseline(const Record& record, World& world) {
  Baseline out{.boot_id = record.boot_id,
               .device_key = record.device_key,
               .device = record.device,
               .port = record.port,
               .link = *record.link};
  out.ethtool_family = TRY(world.host.ethtool_family()).value_or(0);
  for (const EthtoolGroup group : kEthtoolGroups) {
    if (out.ethtool_family == 0) break;
    auto settings = TRY(world.host.ethtool(out.ethtool_family, out.link.index, group));
    if (settings) out.ethtool[group] = std::move(*settings);
  }
  out.files = TRY(read_interface_files(world.sys, out.link.name));
  return out;
}

// Whether the link need not be read again: normally it has its old name.
bool is_certainly(const LinkBefore& before, const Link& link) {
  if (!before.parent_device.empty()) return link.parent_device == before.parent_device;
  return link.kind == before.kind && link.mac == before.mac && link.lower == before.lower;
}

Result<std::optional<Link>> find_in_host(const Record& record, World& world) {
  if (ended_with_its_host(record, world)) return std::optional<Link>();
  auto link = TRY(world.host.find_link(record.link->name));
  if (link && is_certainly(*record.link, *link)) return link;
  return find_link_in_host(record, world);
}

// Empty: the group is unchanged.
Result<std::string> restore_group(const Baseline& baseline, EthtoolGroup group, int link, Kernel& host) {
  const EthtoolSettings& before = baseline.ethtool.at(group);
  const auto read = [&] { return host.ethtool(baseline.ethtool_family, link, group); };
  const std::string name = group_name(group);
  const auto differs = [&](const std::optional<EthtoolSettings>& now) {
    if (!now) return std::string("its driver does not have them any more");
    return before.difference_to(*now);
  };
  auto now = TRY(read());
  if (differs(now).empty()) return std::string();
  auto set = Result<>();
  if (const auto change = now ? before.change_from(*now) : std::nullopt)
    set = host.change_ethtool(baseline.ethtool_family, link, group, *change);
  now = TRY(read());
  const std::string what = differs(now);
  if (what.empty()) return std::string();
  return name + ": " + what + (set ? "" : " (" + set.error().text + ")");
}

// A group that cannot be read is a reason, too. ENODEV is an error: the interface no longer exists.
Result<> restore_groups(const Baseline& baseline, int link, Kernel& host, std::vector<std::string>& reasons) {
  for (const auto& [group, settings] : baseline.ethtool) {
    auto reason = restore_group(baseline, group, link, host);
    if (!reason && reason.error().sys == ENODEV) return std::move(reason).error();
    if (!reason)
      reasons.push_back(std::string(group_name(group)) + ": not known, " + reason.error().text);
    else if (!reason->empty())
      reasons.push_back(std::move(*reason));
  }
  return {};
}

struct Outcome {
  std::optional<Link> link;  // no value: the netdev no longer exists
  std::vector<std::string> reasons;
};

// The link is in the host. `known` is its baseline, if it has one of this boot.
Result<Outcome> restore_once(const Record& record, const std::optional<Baseline>& known, World& world) {
  Outcome out;
  out.link = TRY(find_in_host(record, world));
  if (!out.link) return out;
  out.reasons = link_differences(*record.link, *out.link);
  if (!known) return out;
  const auto groups = restore_groups(*known, out.link->index, world.host, out.reasons);
  if (!groups) {
    // Its driver was just unbound, or a veth ended. One that its driver is resetting answers alike
    // (netif_device_present() in ethnl_ops_begin()).
    if (!TRY(find_in_host(record, world))) return Outcome{};
    out.reasons.push_back("its driver does not answer: " + groups.error().text);
  }
  for (std::string& reason : restore_interface_files(world.sys, out.link->name, known->files))
    out.reasons.push_back(std::move(reason));
  return out;
}

// A second time if something is left: a setting can depend on another that is restored after it, and a read
// that failed once may succeed.
Result<Outcome> restore(const Record& record, const std::optional<Baseline>& known, World& world) {
  Outcome first = TRY(restore_once(record, known, world));
  if (first.reasons.empty()) return first;
  return restore_once(record, known, world);
}

// So that the next attempt has something to compare with, even if nothing was recorded at ADD (an attachment
// of an older version).
Baseline to_retry(const Record& record, std::optional<Baseline> known, const VfSettings& refused, int index) {
  Baseline out = known ? std::move(*known)
                       : Baseline{.boot_id = record.boot_id,
                                  .device_key = record.device_key,
                                  .device = record.device,
                                  .port = record.port};
  out.link = *record.link;
  out.link.index = index;
  out.vf.reset();
  if (!refused.empty()) out.vf = VfBefore{refused};
  return out;
}

// Kata, or a VM, has bound the driver for its VM and left it so. It is not bound back here: a VM can still
// have the device, for which the kernel would wait without end (vfio_unregister_group_dev()). Empty: another
// driver, or none.
Result<std::string> left_to_user_space(const Record& record, const World& world) {
  if (!record.link || !record.device || !record.device->pci()) return std::string();
  const auto device = TRY(read_device(world.sys, *record.device, Facts::driver));
  if (!device || !device->driver.is_user_space()) return std::string();
  const std::string& key = record.device_key;
  const std::string& driver = device->driver.name();
  return "it is bound to " + driver + " and had the interface " + record.link->name +
         "; once no virtual machine uses it, rebind its own driver, as `vfrail provision` does with `driver: "
         "default` in vfs: echo " +
         key + " > /sys/bus/pci/drivers/" + driver + "/unbind; echo > /sys/bus/pci/devices/" + key +
         "/driver_override; echo " + key +
         " > /sys/bus/pci/drivers_probe. If it is to stay so, remove its file in the folder unclean of "
         "vfrail-cni's state";
}

// Writes the outcome to the files.
Result<> write_down(const Record& record, std::optional<Baseline> known, Outcome& outcome,
                    const VfSettings& refused, World& world) {
  const BaselineStore store(world.store);
  const std::string name = file_name_of(record);
  std::string left = outcome.link ? std::string() : TRY(left_to_user_space(record, world));
  if (!left.empty()) {
    outcome.reasons.push_back(std::move(left));
  } else if (!outcome.link) {
    TRY(must_have_ended(record, world));
    return store.forget(name);
  }
  if (!refused.empty())
    outcome.reasons.push_back("its PF's driver does not take this back, set it there by hand: " +
                              refused.text());
  const int index = outcome.link ? outcome.link->index : record.link->index;
  const bool differs = known && (known->link.index != index || known->vf);
  const bool clean = outcome.reasons.empty();
  if (differs || !clean) {
    auto saved = store.save(name, to_retry(record, std::move(known), refused, index));
    // Without the new index the next ADD only reads everything again.
    if (!saved && !clean) return std::move(saved.error()).in("save the baseline of " + record.device_key);
  }
  if (clean) return store.set_clean(name);
  world.log.warning("the device is not what it was before the pod had it, and cannot be restored",
                    {{"device", record.device_key},
                     {"reason", joined(outcome.reasons, "; ")},
                     {"id", id_text(ErrorId::device_unclean)}});
  return store.set_unclean(name, record.boot_id, outcome.reasons);
}

// What the functions that find and restore a link need of an attachment.
Record record_of(const Baseline& baseline) {
  Record out;
  out.boot_id = baseline.boot_id;
  out.device_key = baseline.device_key;
  out.device = baseline.device;
  out.port = baseline.port;
  out.link = baseline.link;
  out.pod_mac = baseline.link.mac;
  out.vf = baseline.vf;
  return out;
}

// Whether the state "unclean" counts: it is of this boot. A power cut tears files, and makes them void.
Result<bool> is_unclean_now(const std::string& name, const World& world) {
  const auto file = BaselineStore(world.store).load_unclean(name);
  if (!file && file.error().code != Errc::protocol) return file.error();
  return file && *file && (*file)->boot_id == TRY(this_boot(world.sys));
}

constexpr const char* kNoRecord = "the record of its last attachment could not be read";

// Whether a reason of the state "unclean" begins so.
Result<bool> is_unclean_by(std::string_view reason, const std::string& name, const World& world) {
  const auto file = BaselineStore(world.store).load_unclean(name);
  if (!file && file.error().code != Errc::protocol) return file.error();
  if (!file || !*file) return false;
  const auto& reasons = (*file)->reasons;
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const std::string& one) { return one.starts_with(reason); });
}

// There is nothing to compare the device with.
Result<std::vector<std::string>> reasons_without_baseline(const std::string& name, const Error& unreadable,
                                                          World& world) {
  const BaselineStore store(world.store);
  std::vector<std::string> out;
  if (!TRY(is_unclean_now(name, world))) {
    TRY(store.forget(name));
    return out;
  }
  if (const auto file = TRY(store.load_unclean(name))) out = file->reasons;
  out.push_back(unreadable.text + "; remove that file after binding the driver");
  return out;
}

// No value if it no longer exists.
Result<std::optional<Link>> wait_in_host(const Record& record, World& world) {
  std::optional<Link> link;
  const auto there = wait_for_host_link(world, [&]() -> Result<bool> {
    link = TRY(find_in_host(record, world));
    return link.has_value() || !TRY(exists_somewhere(record, world));
  });
  if (there) return link;
  if (there.error().code != Errc::timeout) return there.error();
  return Error{Errc::busy, 0,
               "the interface of " + record.device_key +
                   ", which is not what it was before its last pod, is not in the host",
               ErrorId::device_not_in_host};
}

// Under the device's lock. What is still not restored after one more attempt. None: it is not unclean any
// more, or is left as it is because it is not in the host.
Result<std::vector<std::string>> restore_unclean(const std::string& name, IfAway if_away, World& world) {
  const BaselineStore store(world.store);
  const std::vector<std::string> none;
  auto loaded = store.load(name);
  if (!loaded && loaded.error().code == Errc::protocol)
    return reasons_without_baseline(name, loaded.error(), world);
  const auto known = TRY(std::move(loaded));
  if (!known || known->boot_id != TRY(this_boot(world.sys))) {
    TRY(store.forget(name));
    return none;
  }
  const Record record = record_of(*known);
  auto link = TRY(find_in_host(record, world));
  if (std::string left = link ? std::string() : TRY(left_to_user_space(record, world)); !left.empty())
    return std::vector{std::move(left)};
  if (!link && if_away == IfAway::wait) link = TRY(wait_in_host(record, world));
  if (!link) return none;
  VfSettings refused = TRY(restore_vf_identity(record, world));
  refused = refused.with(TRY(restore_vf_policy(record, world)));
  // Its driver was bound again, or the VF was created again; unless it comes from a pod, where it can have
  // got another index.
  const bool other = link->index != known->link.index && !TRY(is_unclean_by(kNoRecord, name, world));
  if (other && refused.empty()) {
    TRY(store.forget(name));
    return none;
  }
  TRY(restore_link(record, nullptr, world));
  std::string not_reset = TRY(is_unclean_by(kNotReset, name, world)) ? TRY(reset_device(record, world)) : "";
  world.search.renew(kUsualSearchTimeout);
  auto remains = TRY(clear_interface(record, nullptr, world));
  if (!not_reset.empty()) remains.push_back(std::move(not_reset));
  Outcome outcome = TRY(restore(record, known, world));
  for (std::string& one : remains) outcome.reasons.push_back(std::move(one));
  TRY(write_down(record, known, outcome, refused, world));
  // The original settings of an older version's attachment are unknown: the next ADD reads them.
  if (outcome.reasons.empty() && known->ethtool_family == 0) TRY(store.forget(name));
  return outcome.reasons;
}

bool is_of(const std::string& name, const std::string& key) { return device_of(name) == key; }

}  // namespace

Result<> refuse_unclean(const std::string& device_key, IfAway if_away, World& world) {
  for (const std::string& name : TRY(BaselineStore(world.store).unclean_names())) {
    if (!is_of(name, device_key)) continue;
    const auto reasons = TRY(restore_unclean(name, if_away, world), "restore " + device_key);
    if (reasons.empty()) continue;
    return Error{Errc::busy, 0,
                 device_key + " is not what it was before its last pod, and cannot be restored: " +
                     joined(reasons, "; ") +
                     "; rebind its driver, which creates a new interface, or reboot the node",
                 ErrorId::device_unclean};
  }
  return {};
}

Result<> prepare_baseline(const Record& record, World& world) {
  if (!keeps_settings(record)) return {};
  const BaselineStore store(world.store);
  const std::string name = file_name_of(record);
  const auto known = TRY(load(name, world));
  if (known && known->boot_id == record.boot_id && known->link.index == record.link->index) return {};
  const Baseline fresh = TRY(read_baseline(record, world), "read the baseline of " + record.device_key);
  TRY(store.save(name, fresh), "save the baseline of " + record.device_key);
  return store.set_clean(name);
}

Result<> restore_baseline(const Record& record, const VfSettings& refused, std::vector<std::string> remains,
                          World& world) {
  if (!keeps_settings(record)) return {};
  auto known = TRY(load(file_name_of(record), world));
  if (known && known->boot_id != record.boot_id) known.reset();
  Outcome outcome = TRY(restore(record, known, world), "compare " + record.device_key + " with its baseline");
  for (std::string& one : remains) outcome.reasons.push_back(std::move(one));
  return write_down(record, std::move(known), outcome, refused, world);
}

Result<> restore_unrecorded(const std::string& device_key, World& world) {
  const BaselineStore store(world.store);
  const std::string boot = TRY(this_boot(world.sys));
  for (const std::string& name : TRY(store.names())) {
    if (!is_of(name, device_key)) continue;
    // First: a retry finds nothing in the pod, so what fails here is for the next ADD. And it comes from a
    // pod, where it can have got another index.
    TRY(store.set_unclean(name, boot, {kNoRecord}), "mark " + name + " unclean");
    TRY(restore_unclean(name, IfAway::leave, world), "restore " + device_key);
  }
  return {};
}

Result<> distrust_devices_of(const AttachmentName& name, World& world) {
  const std::string boot = TRY(this_boot(world.sys));
  for (const auto& [key, owner] : TRY(world.store.owners())) {
    if (owner != name || key == child_key(name)) continue;  // that one has no device
    TRY(BaselineStore(world.store).set_unclean(key, boot, {kNoRecord}), "mark " + key + " unclean");
  }
  return {};
}

Result<std::vector<Cleaned>> restore_all_unclean(World& world) {
  const BaselineStore store(world.store);
  std::vector<Cleaned> out;
  const auto clean = [&](const std::string& name, const std::string& key) -> Result<> {
    const auto lock = TRY(world.store.lock_device(key, world.lock_timeout), "wait for " + key);
    if (TRY(world.store.owner(key)) || !TRY(store.is_unclean(name))) return {};
    auto reasons = TRY(restore_unclean(name, IfAway::leave, world), "restore " + key);
    const bool in_host = !reasons.empty() || !TRY(store.is_unclean(name));
    if (in_host) out.push_back({key, std::move(reasons)});
    return {};
  };
  for (const std::string& name : TRY(store.unclean_names())) {
    const std::string key = device_of(name);
    const auto cleaned = clean(name, key);
    if (cleaned) continue;
    // The others are not to wait for this one.
    world.log.error("an unclean device cannot be restored",
                    {{"device", key}, {"reason", cleaned.error().text}, {"id", cleaned.error().id_text()}});
    out.push_back({key, {cleaned.error().text}});
  }
  return out;
}

Result<size_t> remove_void_baselines(World& world) {
  const BaselineStore store(world.store);
  const std::string boot = TRY(this_boot(world.sys));
  size_t removed = 0;
  for (const std::string& name : TRY(store.names())) {
    const auto lock = world.store.lock_device(device_of(name), {});
    if (!lock) continue;  // locked: it is needed, or will be written again
    const auto known = store.load(name);
    const bool stands = known ? known->has_value() && (*known)->boot_id == boot
                              : known.error().code != Errc::protocol || TRY(is_unclean_now(name, world));
    if (stands) continue;
    TRY(store.forget(name));
    ++removed;
  }
  return removed;
}

}  // namespace vfrail::cni
