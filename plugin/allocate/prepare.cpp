#include "plugin/allocate/prepare.h"

#include "common/container/allocated_nodes.h"
#include "common/container/allocated_unit.h"
#include "common/container/pod_folder.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/node/device_folder.h"
#include "plugin/allocate/allocation.h"
#include "plugin/allocate/cdi.h"
#include "plugin/allocate/cdi_folder.h"
#include "plugin/inventory/node_devices.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
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

// The devices of a container's units, each once. Of a shared unit those that can be used now: it stands for
// no particular one.
Result<std::vector<PoolDevice>> read_devices(const Pool& pool, const std::vector<const Unit*>& units,
                                             const SysRoot& sys) {
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
      const bool usable = fresh && !(any_will_do && fresh->facts.rdma.empty());
      if (usable) out.push_back(std::move(*fresh));
      if (!usable && !any_will_do)
        return Error{Errc::not_found, 0,
                     pool.resource() + ": device " + device->id() + " has vanished from the node",
                     ErrorId::device_gone};
    }
  }
  if (out.empty())
    return Error{
        Errc::not_found, 0,
        pool.resource() + ": none of its devices has an RDMA device in the host now; see vfrail inspect",
        ErrorId::no_rdma_device};
  return out;
}

Result<std::vector<Allocation>> compute(const PublishedPool& pool,
                                        const std::vector<std::vector<std::string>>& containers,
                                        const AllocatePlaces& places) {
  const NodeFacts node = TRY(read_node(places, pool->config));
  std::set<std::string> asked;
  std::vector<Allocation> out;
  for (const std::vector<std::string>& ids : containers) {
    if (ids.empty())
      return Error{Errc::invalid, 0, pool->resource() + ": the request of a container has no device"};
    std::vector<const Unit*> wanted;
    for (const std::string& id : ids) {
      if (!asked.insert(id).second)
        return Error{Errc::invalid, 0, pool->resource() + ": device '" + id + "' is requested twice"};
      wanted.push_back(pool.find_unit(id));
      if (wanted.back() == nullptr)
        return Error{Errc::not_found, 0, pool->resource() + ": device '" + id + "' is not in the pool",
                     ErrorId::not_advertised};
    }
    const auto devices = TRY(read_devices(*pool, wanted, places.sys));
    out.push_back(TRY(allocate(*pool, devices, node), "work out what the container gets"));
  }
  return out;
}

// Multus runs as another program: the folder and its files are readable for all.
Result<> make_public_folder(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0) return {};
  TRY(make_folder(path, 0755));
  if (::chmod(path.c_str(), 0755) != 0) return Error::from_errno(errno, "chmod " + path);
  return {};
}

// The sources of the mounts have to be there before vfrail-cni fills them, and if it never does. What an
// earlier pod has left is removed.
Result<> make_pod_files(const Allocation& allocation, const AllocatePlaces& places) {
  std::vector<std::string> folders{default_folder(places.run_dir)};
  for (const auto& [device, edits] : allocation.edits_of) {
    if (places.cdi_dir.empty()) folders.push_back(device_files_folder(places.run_dir, device));
  }
  for (const std::string& folder : folders) {
    TRY(make_public_folder(folder));
    for (const char* file : {kUcxFile, kPodFile}) TRY(remove_file(folder + "/" + file));
    TRY(write_file(folder + "/" + kNcclFile, "", 0644, Durability::renamed));
  }
  return {};
}

// Files of this request, removed again unless all of them could be written. Older files of a device belong to
// a pod that is gone, or kubelet would not allocate it again.
class Written {
 public:
  explicit Written(const AllocatePlaces& places) : places_(places) {}
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() {
    for (const std::string& path : files_) (void)remove_file(path);
    for (const DeviceId& id : allocated_nodes_) (void)remove_allocated_nodes(places_.run_dir, id);
    for (const AllocatedUnit& unit : units_) (void)remove_allocated_unit(places_.run_dir, unit);
  }

  Result<> write(const AllocatedUnit& unit) {
    TRY(write_allocated_unit(places_.run_dir, unit), "record the devices of " + unit.unit);
    units_.push_back(unit);
    return {};
  }

  Result<> write(const Allocation& allocation) {
    for (const auto& [device, spec] : allocation.specs)
      TRY(with_id(ErrorId::cdi_spec, write_spec(spec)), "write the CDI spec of " + device);
    for (const DeviceInfoFile& file : allocation.files) {
      std::string path = places_.device_info_dir + "/" + file.name;
      TRY(write_file(path, file.content, 0444, Durability::renamed), "write device information");
      files_.push_back(std::move(path));
    }
    for (const auto& [device, nodes] : allocation.allocated_nodes) {
      DeviceId id = TRY(DeviceId::parse(device), "record the allocated nodes");
      const auto spec = allocation.specs.find(device);
      const AllocatedNodes allocated{
          nodes, spec == allocation.specs.end() ? std::string() : spec_path(spec->second)};
      TRY(write_allocated_nodes(places_.run_dir, id, allocated),
          "record the allocated nodes of device " + device);
      allocated_nodes_.push_back(std::move(id));
    }
    return {};
  }

  void keep() {
    files_.clear();
    allocated_nodes_.clear();
    units_.clear();
  }

 private:
  std::string spec_path(const CdiSpec& spec) const { return places_.cdi_dir + "/" + spec.file_name(); }

  // An existing one may be in use, by other pods of a shared pool: its replacement is equivalent. So may
  // one that cannot be found out about.
  Result<> write_spec(const CdiSpec& spec) {
    const bool was_there = ::access(spec_path(spec).c_str(), F_OK) == 0 || errno != ENOENT;
    TRY(put_cdi_spec(places_.cdi_dir, spec));
    if (!was_there) files_.push_back(spec_path(spec));
    return {};
  }

  const AllocatePlaces& places_;
  std::vector<std::string> files_;
  std::vector<DeviceId> allocated_nodes_;
  std::vector<AllocatedUnit> units_;
};

// For vfrail-cni, to which Multus names the unit and not its devices.
Result<> write_bundles(const PublishedPool& pool, const std::vector<std::vector<std::string>>& containers,
                       Written& written) {
  if (pool->config.unit != UnitKind::bundle) return {};
  for (const std::vector<std::string>& ids : containers) {
    for (const std::string& id : ids) {
      AllocatedUnit unit{id, pool->resource(), {}};
      for (const PoolDevice* device : pool.find_unit(id)->devices)
        unit.devices.push_back(TRY(DeviceId::parse(device->id()), id));
      TRY(written.write(unit));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<ContainerEdits>> prepare(const PublishedPool& pool,
                                            const std::vector<std::vector<std::string>>& containers,
                                            const AllocatePlaces& places) {
  if (pool->config.memlock && places.cdi_dir.empty())
    return Error{
        Errc::invalid, 0,
        "memlock of " + pool->resource() +
            " needs CDI, whose specs carry its hook: start vfrail with --use-cdi, or remove the key"};
  auto allocations = TRY(compute(pool, containers, places));
  for (Allocation& allocation : allocations) {
    if (!places.cdi_dir.empty()) use_cdi(pool->config, places.cni_dir, allocation);
  }
  const bool has_files = std::any_of(allocations.begin(), allocations.end(),
                                     [](const Allocation& allocation) { return !allocation.files.empty(); });
  if (has_files) TRY(make_public_folder(places.device_info_dir), "make the device-info folder");
  Written written(places);
  for (const Allocation& allocation : allocations) {
    if (pool->config.pod_files.any())
      TRY(with_id(ErrorId::pod_files, make_pod_files(allocation, places)), "make the default files of pods");
    TRY(written.write(allocation));
  }
  TRY(write_bundles(pool, containers, written));
  written.keep();
  std::vector<ContainerEdits> out;
  for (Allocation& allocation : allocations) out.push_back(std::move(allocation.edits));
  return out;
}

}  // namespace vfrail::plugin
