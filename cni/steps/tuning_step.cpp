#include "cni/steps/tuning_step.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/kernel/ethtool.h"
#include "common/node/device.h"
#include "common/text.h"

#include <array>
#include <cerrno>

namespace vfrail::cni {

namespace {

std::string driver_of(const LinkBefore& link, const World& world) {
  const auto driver = world.sys.link_name("sys/class/net/" + link.name + "/device/driver").or_none();
  return driver ? *driver : "the driver of " + link.name;
}

Error refused(const LinkBefore& link, const World& world, const std::string& key, const Error& error,
              const std::string& remedy) {
  const bool never = error.sys == EOPNOTSUPP;
  return Error{never ? Errc::unsupported : error.code, error.sys,
               key + ": " + driver_of(link, world) + (never ? " does not support it" : " refuses it") + " (" +
                   error.text + "); " + (never ? "remove it from the network" : remedy),
               ErrorId::link_setting_refused};
}

struct Group {
  EthtoolGroup group;
  const char* key;
  const char* option;  // of ethtool(8), which shows it
};
// In the order of kEthtoolGroups.
constexpr std::array kTuned{
    Group{EthtoolGroup::channels, "queues", "-l"}, Group{EthtoolGroup::rings, "rings", "-g"},
    Group{EthtoolGroup::features, "features", "-k"}, Group{EthtoolGroup::coalesce, "coalesce", "-c"}};

// A driver has combined queues, or queues for each direction; "other" ones are its own.
std::map<std::string, uint32_t> channels_of(uint32_t queues, const EthtoolSettings& now) {
  if (now.numbers.contains("combined")) return {{"combined", queues}};
  std::map<std::string, uint32_t> out;
  for (const char* direction : {"rx", "tx"}) {
    if (now.numbers.contains(direction)) out[direction] = queues;
  }
  return out;
}

EthtoolSettings wanted_of(EthtoolGroup group, const Tuning& tuning, const EthtoolSettings& now) {
  EthtoolSettings out;
  if (group == EthtoolGroup::channels && tuning.queues) out.numbers = channels_of(*tuning.queues, now);
  if (group == EthtoolGroup::rings) out.numbers = tuning.rings;
  if (group == EthtoolGroup::coalesce) out.numbers = tuning.coalesce;
  if (group == EthtoolGroup::features) out.named_bits = tuning.features;
  return out;
}

bool names_group(EthtoolGroup group, const Tuning& tuning) {
  return (group == EthtoolGroup::channels && tuning.queues) ||
         (group == EthtoolGroup::rings && !tuning.rings.empty()) ||
         (group == EthtoolGroup::coalesce && !tuning.coalesce.empty()) ||
         (group == EthtoolGroup::features && !tuning.features.empty());
}

Result<> tune_group(const Group& row, const LinkBefore& link, const Tuning& tuning, uint16_t family,
                    World& world) {
  const Error none{Errc::unsupported, EOPNOTSUPP, "EOPNOTSUPP"};
  const auto now = TRY(world.host.ethtool(family, link.index, row.group));
  const EthtoolSettings wanted = now ? wanted_of(row.group, tuning, *now) : EthtoolSettings();
  if (wanted == EthtoolSettings()) return refused(link, world, row.key, none, "");
  auto changed = world.host.change_ethtool(family, link.index, row.group, wanted);
  if (changed) return {};
  return refused(link, world, row.key, changed.error(),
                 "ethtool " + std::string(row.option) + " " + link.name + " shows what it can");
}

// The CPUs of the device's NUMA node as sysfs writes them. `folder` is the device's, `name` what people call
// it.
Result<std::string> cpus_of(const std::string& key, const std::string& cpus, const std::string& folder,
                            const std::string& name, const World& world) {
  if (cpus != kNumaCpus) return cpus;
  const auto node = TRY(read_numa_node(DeviceFolder(world.sys.at(folder))));
  if (!node)
    return Error{Errc::invalid, 0,
                 key + ": the NUMA node of " + name +
                     " is not known; name the CPUs by a mask (\"ff\") in place of \"numa\""};
  const std::string file = "sys/devices/system/node/node" + std::to_string(*node) + "/cpumap";
  auto map = TRY(world.sys.text(file));
  if (!map)
    return Error{Errc::not_found, 0,
                 key + ": the CPUs of the NUMA node of " + name + " are not known, there is no " +
                     world.sys.path(file) + "; name the CPUs by a mask (\"ff\") in place of \"numa\""};
  return *std::move(map);
}

// `queues` is "rx-" or "tx-". An interface with one queue for sending has no XPS (xps_cpus_store(): ENOENT).
Result<> steer(const char* key, const std::string& queues, const std::string& file, const std::string& cpus,
               const LinkBefore& link, const World& world) {
  if (cpus.empty()) return {};
  const std::string mask =
      TRY(cpus_of(key, cpus, "sys/class/net/" + link.name + "/device", link.name, world));
  const std::string folder = "sys/class/net/" + link.name + "/queues";
  for (const std::string& queue : TRY(world.sys.list(folder)).value_or(SysRoot::Names())) {
    if (!queue.starts_with(queues)) continue;
    const auto written = write_attribute(world.sys.path(folder + "/" + queue + "/" + file), mask);
    if (written) continue;
    const bool one_queue = written.error().sys == ENOENT;
    return Error{one_queue ? Errc::unsupported : written.error().code, written.error().sys,
                 std::string(key) + ": " + written.error().text +
                     (one_queue ? ": " + link.name + " has one queue; remove it from the network"
                                : ": see that the mask has only CPUs of this node"),
                 ErrorId::link_setting_refused};
  }
  return {};
}

std::string affinity_file(uint32_t irq) { return "proc/irq/" + std::to_string(irq) + "/smp_affinity"; }

// The interrupts of the device that a driver has requested, with the CPUs that each may interrupt now. Others
// have no such file (register_irq_proc() is called by request_irq()).
Result<std::map<uint32_t, std::string>> read_irqs(const DeviceId& device, const World& world) {
  std::map<uint32_t, std::string> out;
  const auto numbers = TRY(world.sys.list(device_folder(device) + "/msi_irqs"));
  for (const std::string& name : numbers.value_or(SysRoot::Names())) {
    const auto irq = parse_decimal(name);
    if (!irq) continue;
    auto mask = TRY(world.sys.text(affinity_file(*irq)));
    if (mask) out[*irq] = std::move(*mask);
  }
  return out;
}

}  // namespace

Result<> steer_irqs(const std::string& cpus, Record& record, World& world) {
  if (cpus.empty() || !record.device) return {};
  const std::string folder = device_folder(*record.device);
  const std::string mask = TRY(cpus_of("irqs", cpus, folder, record.device_key, world));
  Record now = record;  // the roll-back removes what is on disk only if it has the same
  now.irqs = TRY(read_irqs(*record.device, world));
  if (now.irqs.empty())
    return Error{
        Errc::unsupported, 0,
        "irqs: " + record.device_key + " has no interrupts of its own (msi_irqs); remove it from the network",
        ErrorId::link_setting_refused};
  TRY(world.store.save(now), "save the CPUs of its interrupts");
  record = std::move(now);
  for (const auto& [irq, before] : record.irqs) {
    const auto written = write_attribute(world.sys.path(affinity_file(irq)), mask);
    if (written) continue;
    const bool managed = written.error().sys == EIO || written.error().sys == EPERM;
    return Error{
        managed ? Errc::unsupported : written.error().code, written.error().sys,
        "irqs: " + written.error().text +
            (managed ? ": the kernel itself spreads this interrupt of the driver; remove it from the network"
                     : ": see that the mask has only CPUs of this node"),
        ErrorId::link_setting_refused};
  }
  return {};
}

void restore_irqs(const Record& record, World& world) {
  if (record.irqs.empty() || !record.device) return;
  const auto now = read_irqs(*record.device, world);
  for (const auto& [irq, mask] : record.irqs) {
    // One that the driver has released since is another's, or nobody's.
    if (now && !now->contains(irq)) continue;
    const auto written =
        now ? write_attribute(world.sys.path(affinity_file(irq)), mask) : Result<>(now.error());
    if (written) continue;
    world.log.warning("cannot restore the CPUs of an interrupt", {{"device", record.device_key},
                                                                  {"irq", std::to_string(irq)},
                                                                  {"reason", written.error().text},
                                                                  {"id", written.error().id_text()}});
  }
}

Result<> tune_device(const LinkBefore& link, const Tuning& tuning, World& world) {
  if (tuning.empty()) return {};
  const uint16_t family = TRY(world.host.ethtool_family()).value_or(0);
  for (const Group& row : kTuned) {
    if (!names_group(row.group, tuning)) continue;
    if (family == 0)
      return Error{Errc::unsupported, 0,
                   std::string(row.key) + ": this kernel has no ethtool netlink (Linux 5.6 or later)"};
    TRY(tune_group(row, link, tuning, family, world));
  }
  TRY(steer("rps", "rx-", "rps_cpus", tuning.rps, link, world));
  return steer("xps", "tx-", "xps_cpus", tuning.xps, link, world);
}

}  // namespace vfrail::cni
