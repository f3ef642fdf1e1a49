#include "plugin/device/allocate/allocated_part.h"

#include "common/errors/error_id.h"
#include "common/node/device_folder.h"
#include "plugin/device/allocate/cdi.h"
#include "plugin/device/inventory/node_devices.h"

#include <optional>
#include <string_view>
#include <utility>

namespace vfrail::plugin {

namespace {

constexpr std::string_view kDev = "/dev/";

// Read at each Allocate and not at the scan: loading vhost_net or rdma_ucm later needs no restart.
Result<NodeFacts> read_node(const AllocatePlaces& places, const ResourceConfig& resource) {
  const SysRoot& sys = places.sys;
  NodeFacts out;
  out.run_folder = places.run_dir;
  out.rdma_cm = TRY(has_device_node(sys, "infiniband/rdma_cm"));
  out.verbs = TRY(sys.exists("sys/class/infiniband_verbs"));
  out.vhost_net = TRY(has_device_node(sys, "vhost-net")) && TRY(has_device_node(sys, "net/tun"));
  out.iommufd = resource.iommufd && TRY(has_device_node(sys, "iommu"));
  const std::string check = places.cni_dir + "/" + kCheckProgram;
  // A mount without a source would stop the container.
  if (resource.mount_check && TRY(sys.exists(check.substr(1)), "mountCheck")) out.check_program = check;
  return out;
}

// What extraDeviceNodes means for one device: "/dev/knem" itself, "cxi/*" what the device's folder cxi names.
Result<std::vector<std::string>> find_extra_nodes(const ResourceConfig& resource, const DeviceFacts& function,
                                                  const SysRoot& sys) {
  std::vector<std::string> out;
  for (const std::string& wanted : resource.extra_nodes) {
    if (!wanted.ends_with("/*")) {
      if (!TRY(has_device_node(sys, wanted.substr(kDev.size())), "extraDeviceNodes"))
        return Error{Errc::not_found, 0, "extraDeviceNodes: there is no " + wanted + " on this node",
                     ErrorId::extra_node_missing};
      out.push_back(wanted);
      continue;
    }
    const std::string folder = wanted.substr(0, wanted.size() - 2);
    const auto names = TRY(sys.list(device_folder(function.id) + "/" + folder), "extraDeviceNodes");
    for (const std::string& name : names.value_or(SysRoot::Names())) out.push_back("/dev/" + name);
  }
  return out;
}

// The device with its present facts; no value if it has vanished.
Result<std::optional<PoolDevice>> read_device(const Pool& pool, const PoolDevice& known, const SysRoot& sys) {
  auto facts = TRY(read_function(sys, known.facts), "read the facts of device " + known.id());
  if (!facts) return std::optional<PoolDevice>();
  PoolDevice fresh = known;
  fresh.facts = std::move(*facts);
  fresh.extra_nodes = TRY(find_extra_nodes(pool.config, fresh.facts, sys), "device " + known.id());
  return std::optional(std::move(fresh));
}

// Not by its netdev: some devices have none in the host either.
bool is_in_pod(const PoolDevice& device, const AttachedDevices& attached) {
  return attached.contains(device.id()) || (device.rdma && device.facts.rdma.empty());
}

// The devices of a container's units, each once. Of a shared unit those that can be used now: it stands for
// no particular one.
Result<std::vector<PoolDevice>> read_devices(const Pool& pool, const std::vector<const Unit*>& units,
                                             const SysRoot& sys, const AttachedDevices* attached,
                                             std::set<std::string>& in_pod) {
  std::vector<PoolDevice> out;
  std::set<std::string> seen;
  const bool any_will_do = pool.config.unit == UnitKind::shared;
  for (const Unit* unit : units) {
    if (pool.config.unit == UnitKind::bundle && !unit->fault.empty())
      return Error{Errc::busy, 0, pool.resource() + ": " + unit->id + " is not complete: " + unit->fault,
                   ErrorId::bundle_incomplete};
    for (const PoolDevice* device : unit->devices) {
      if (!seen.insert(device->id()).second) continue;
      auto fresh = TRY(read_device(pool, *device, sys));
      if (fresh && !any_will_do && attached != nullptr && is_in_pod(*fresh, *attached)) {
        in_pod.insert(device->id());
        continue;
      }
      const bool usable = fresh && !(any_will_do && fresh->facts.rdma.empty());
      if (usable) out.push_back(std::move(*fresh));
      if (!usable && !any_will_do)
        return Error{Errc::not_found, 0,
                     pool.resource() + ": device " + device->id() + " has vanished from the node",
                     ErrorId::device_gone};
    }
  }
  if (out.empty() && in_pod.empty())
    return Error{
        Errc::not_found, 0,
        pool.resource() + ": none of its devices has an RDMA device in the host now; see vfrail inspect",
        ErrorId::no_rdma_device};
  return out;
}

// What a request asks for, to refuse what it asks for twice.
struct Asked {
  std::set<std::pair<std::string, std::string>> units;  // resource and id
  std::set<std::string> devices;                        // of exclusive pools
};

Result<> check_twice(const Pool& pool, const Allocation& allocation, Asked& asked) {
  if (shares(pool.config)) return {};
  for (const auto& [device, edits] : allocation.edits_of) {
    if (!asked.devices.insert(device).second)
      return Error{Errc::invalid, 0, pool.resource() + ": device '" + device + "' is requested twice"};
  }
  return {};
}

Result<AllocatedPart> allocate_part(const UnitsOfPool& wanted, const AllocatePlaces& places,
                                    const AttachedDevices* attached, Asked& asked) {
  const PublishedPool& pool = wanted.pool;
  const std::string resource = pool->resource();
  if (pool->config.memlock && places.cdi_dir.empty())
    return Error{
        Errc::invalid, 0,
        "memlock of " + resource +
            " needs CDI, whose specs carry its hook: start vfrail with --use-cdi, or remove the key"};
  if (wanted.units.empty())
    return Error{Errc::invalid, 0, resource + ": the request of a container has no device"};
  std::vector<const Unit*> units;
  for (const std::string& id : wanted.units) {
    // Containers of one request may share: what they get is the same.
    if (!asked.units.emplace(resource, id).second && !shares(pool->config))
      return Error{Errc::invalid, 0, resource + ": device '" + id + "' is requested twice"};
    units.push_back(pool.find_unit(id));
    if (units.back() == nullptr)
      return Error{Errc::not_found, 0, resource + ": device '" + id + "' is not in the pool",
                   ErrorId::not_advertised};
  }
  const NodeFacts node = TRY(read_node(places, pool->config));
  AllocatedPart out{pool, wanted.units, {}};
  const auto devices = TRY(read_devices(*pool, units, places.sys, attached, out.in_pod));
  if (devices.empty()) return out;
  out.allocation = TRY(allocate(*pool, devices, node), "work out what the container gets");
  TRY(check_twice(*pool, out.allocation, asked));
  if (!places.cdi_dir.empty()) use_cdi(pool->config, places.cni_dir, out.allocation);
  return out;
}

}  // namespace

Result<std::vector<AllocatedContainer>> allocate_containers(const std::vector<ContainerUnits>& containers,
                                                            const AllocatePlaces& places,
                                                            const AttachedDevices* attached) {
  Asked asked;
  std::vector<AllocatedContainer> out;
  for (const ContainerUnits& wanted : containers) {
    AllocatedContainer& container = out.emplace_back();
    for (const UnitsOfPool& one : wanted)
      container.push_back(TRY(allocate_part(one, places, attached, asked)));
  }
  return out;
}

}  // namespace vfrail::plugin
