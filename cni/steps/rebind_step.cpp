#include "cni/steps/rebind_step.h"

#include "cni/node/device.h"
#include "cni/steps/link_steps.h"
#include "cni/steps/rdma_steps.h"
#include "common/errors/error_id.h"
#include "common/node/device_folder.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

namespace vfrail::cni {

namespace {

// probe() mostly has made the device nodes when it returns; every other rebind and move waits.
constexpr std::chrono::milliseconds kNodesTimeout{1000};

using Bind = std::function<Result<>()>;

// Until the device has as many nodes as before.
Result<> wait_for_nodes(const Record& record, size_t count, const World& world) {
  const auto deadline = std::chrono::steady_clock::now() + std::min(kNodesTimeout, world.return_timeout);
  while (TRY(read_rdma_nodes(world.sys, *record.device)).size() < count) {
    if (std::chrono::steady_clock::now() >= deadline) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {};
}

// Since Linux 7 a name is free in the host while its device is in a pod, so a device that is bound anew can
// take that of another VF. It gets its own again in the same turn, in which nobody else takes it.
Result<> keep_name(const Record& record, const std::vector<std::string>& before, World& world) {
  const auto now = TRY(read_rdma_names(world.sys, *record.device));
  if (before.size() != 1 || now.size() != 1 || now == before) return {};
  for (const RdmaDevice& device : TRY(world.host.rdma_devices())) {
    if (device.name != now.front()) continue;
    const auto renamed = world.host.rename_rdma_device(device.index, before.front());
    if (!renamed && renamed.error().sys != EEXIST)
      return Error(renamed.error())
          .in("restore the name " + before.front() + " of RDMA device " + device.name);
    return {};
  }
  return {};
}

Result<> bind_in_turn(const Record& record, const Bind& bind, World& world) {
  const auto turn = world.store.lock_rdma(world.lock_timeout);
  // Better than no rebind: whoever gets other numbers by it is refused when they are compared.
  if (!turn)
    world.log.warning(
        "the driver is rebound although another pod's RDMA move or rebind has not ended",
        {{"device", record.device_key}, {"reason", turn.error().text}, {"id", turn.error().id_text()}});
  const size_t before = TRY(read_rdma_nodes(world.sys, *record.device)).size();
  const auto names = TRY(read_rdma_names(world.sys, *record.device));
  TRY(bind());
  TRY(wait_for_nodes(record, before, world));
  return keep_name(record, names, world);
}

Bind rebind_of(const Record& record, World& world) {
  return [&] { return world.rebind(world.sys, *record.device); };
}

Result<> bind_and_wait(const Record& record, const Bind& bind, World& world) {
  TRY(bind_in_turn(record, bind, world), "rebind the driver of " + record.device_key);
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  for (;;) {
    // Its RDMA device appears some time after its netdev.
    const auto now =
        TRY(read_device(world.sys, *record.device, Facts::netdevs | Facts::rdma)).value_or(Device());
    if (!now.netdevs.empty() && now.rdma.size() >= record.rdma.size()) return {};
    if (std::chrono::steady_clock::now() >= deadline) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Result<> bind_and_restore(const Record& record, const Bind& bind, World& world) {
  // For the next attempt, if this one is killed while no driver is bound. A sweep's of an unclean device has
  // no record.
  Record marked = record;
  marked.rebinding = true;
  const bool has_file = !record.attachment.container_id.empty();
  const auto saved = has_file ? world.store.save(marked) : Result<>();
  if (!saved) {
    world.log.warning(
        "the record cannot be written before the driver is rebound: if DEL is killed now, the device has no "
        "driver",
        {{"device", record.device_key}, {"reason", saved.error().text}, {"id", saved.error().id_text()}});
  }
  TRY(bind_and_wait(record, bind, world));
  if (has_file && saved) TRY(world.store.save(record), "save that the driver is bound");
  TRY(restore_rdma(record, nullptr, world));
  return restore_link(record, nullptr, world);
}

}  // namespace

Result<> rebind_in_turn(const Record& record, World& world) {
  return bind_in_turn(record, rebind_of(record, world), world);
}

Result<bool> can_rebind(const Record& record, const World& world) {
  if (!record.device || !record.device->pci()) return false;
  const auto device = TRY(read_device(world.sys, *record.device, Facts::driver));
  if (!device || device->driver.kind() != DriverKind::kernel) return false;
  // A driver need not let itself be unbound by hand (suppress_bind_attrs), and in a container sysfs can be
  // without it.
  return world.sys.exists("sys/bus/pci/devices/" + record.device->text() + "/driver/unbind");
}

Result<> rebind_device(const Record& record, const std::string& why, World& world) {
  world.log.warning(
      "rebinding the driver, to remove what the pod left on the device",
      {{"device", record.device_key}, {"reason", why}, {"id", id_text(ErrorId::pod_changes_undone)}});
  return bind_and_restore(record, rebind_of(record, world), world);
}

Result<std::string> obstacle_to_reset(const Record& record, const World& world) {
  if (!record.link || !TRY(can_rebind(record, world)))
    return std::string("it is not a PCI function with an interface and a driver of the kernel");
  const auto device = TRY(read_device(world.sys, *record.device, Facts::netdevs));
  if (device && device->netdevs.size() > 1)
    return "it has several interfaces (" + joined(device->netdev_names()) +
           "), of which others may be in use";
  const DeviceFolder folder(world.sys, *record.device);
  if (TRY(folder.number("sriov_numvfs")).value_or(0) > 0)
    return std::string("it is a PF, whose VFs would lose their function");
  if (TRY(folder.exists("reset"))) return std::string();
  return std::string("the kernel has no way to reset it alone (it has no FLR)");
}

Result<std::string> reset_device(const Record& record, World& world) {
  if (!TRY(obstacle_to_reset(record, world)).empty()) return std::string();
  std::string failure;
  TRY(bind_and_restore(
      record,
      [&]() -> Result<> {
        failure = TRY(world.reset(world.sys, *record.device));
        return {};
      },
      world));
  if (failure.empty()) world.log.info("the function was reset", {{"device", record.device_key}});
  return failure.empty() ? failure : std::string(kNotReset) + ": " + failure;
}

Result<> restore_driver(const Record& record, World& world) {
  if (!record.rebinding || !record.device) return {};
  const auto device = TRY(read_device(world.sys, *record.device, Facts::driver));
  return !device || device->driver.is_bound() ? Result<>()
                                              : bind_and_wait(record, rebind_of(record, world), world);
}

}  // namespace vfrail::cni
