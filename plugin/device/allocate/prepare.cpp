#include "plugin/device/allocate/prepare.h"

#include "common/container/allocated_nodes.h"
#include "common/container/allocated_unit.h"
#include "common/container/pod_folder.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/node/device_folder.h"
#include "plugin/device/allocate/allocation.h"
#include "plugin/device/allocate/cdi.h"
#include "plugin/device/allocate/cdi_folder.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/device/inventory/node_devices.h"

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

// What a container gets of one pool.
struct Part {
  PublishedPool pool;
  std::vector<std::string> units;
  Allocation allocation;
};
using Container = std::vector<Part>;

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

Result<Part> compute_part(const UnitsOfPool& wanted, const AllocatePlaces& places, Asked& asked) {
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
    if (!asked.units.emplace(resource, id).second)
      return Error{Errc::invalid, 0, resource + ": device '" + id + "' is requested twice"};
    units.push_back(pool.find_unit(id));
    if (units.back() == nullptr)
      return Error{Errc::not_found, 0, resource + ": device '" + id + "' is not in the pool",
                   ErrorId::not_advertised};
  }
  const NodeFacts node = TRY(read_node(places, pool->config));
  const auto devices = TRY(read_devices(*pool, units, places.sys));
  Part out{pool, wanted.units, {}};
  out.allocation = TRY(allocate(*pool, devices, node), "work out what the container gets");
  TRY(check_twice(*pool, out.allocation, asked));
  if (!places.cdi_dir.empty()) use_cdi(pool->config, places.cni_dir, out.allocation);
  return out;
}

Result<std::vector<Container>> compute(const std::vector<ContainerUnits>& containers,
                                       const AllocatePlaces& places) {
  Asked asked;
  std::vector<Container> out;
  for (const ContainerUnits& wanted : containers) {
    Container& container = out.emplace_back();
    for (const UnitsOfPool& one : wanted) container.push_back(TRY(compute_part(one, places, asked)));
  }
  return out;
}

std::string spec_path(const CdiSpec& spec, const AllocatePlaces& places) {
  return places.cdi_dir + "/" + spec.file_name();
}

std::string info_path(const DeviceInfoFile& file, const AllocatePlaces& places) {
  return places.device_info_dir + "/" + file.name;
}

// For vfrail-cni, to which Multus names the unit and not its devices.
Result<std::vector<AllocatedUnit>> bundles_of(const Part& part) {
  std::vector<AllocatedUnit> out;
  if (part.pool->config.unit != UnitKind::bundle) return out;
  for (const std::string& id : part.units) {
    AllocatedUnit unit{id, part.pool->resource(), {}};
    for (const PoolDevice* device : part.pool.find_unit(id)->devices)
      unit.devices.push_back(TRY(DeviceId::parse(device->id()), id));
    out.push_back(std::move(unit));
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

// All that it can; the first failure.
Result<> remove_files(const PreparedFiles& files, const AllocatePlaces& places) {
  Result<> out;
  const auto note = [&](Result<> removed) {
    if (out && !removed) out = std::move(removed);
  };
  for (const std::string& path : files.paths) note(remove_file(path));
  for (const DeviceId& id : files.allocated_nodes) note(remove_allocated_nodes(places.run_dir, id));
  for (const AllocatedUnit& unit : files.units) note(remove_allocated_unit(places.run_dir, unit));
  return out;
}

// Files of this request, removed again unless all of them could be written. Older files of a device belong to
// a pod that is gone, or kubelet would not allocate it again.
class Written {
 public:
  explicit Written(const AllocatePlaces& places) : places_(places) {}
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() { (void)remove_files(written_, places_); }

  Result<> write(const AllocatedUnit& unit) {
    TRY(write_allocated_unit(places_.run_dir, unit), "record the devices of " + unit.unit);
    written_.units.push_back(unit);
    return {};
  }

  Result<> write(const Allocation& allocation) {
    for (const auto& [device, spec] : allocation.specs)
      TRY(with_id(ErrorId::cdi_spec, write_spec(spec)), "write the CDI spec of " + device);
    for (const DeviceInfoFile& file : allocation.files) {
      std::string path = info_path(file, places_);
      TRY(write_file(path, file.content, 0444, Durability::renamed), "write device information");
      written_.paths.push_back(std::move(path));
    }
    for (const auto& [device, nodes] : allocation.allocated_nodes) {
      DeviceId id = TRY(DeviceId::parse(device), "record the allocated nodes");
      const auto spec = allocation.specs.find(device);
      const AllocatedNodes allocated{
          nodes, spec == allocation.specs.end() ? std::string() : spec_path(spec->second, places_)};
      TRY(write_allocated_nodes(places_.run_dir, id, allocated),
          "record the allocated nodes of device " + device);
      written_.allocated_nodes.push_back(std::move(id));
    }
    return {};
  }

  void keep() { written_ = {}; }

 private:
  // An existing one may be in use, by other pods of a shared pool: its replacement is equivalent. So may
  // one that cannot be found out about.
  Result<> write_spec(const CdiSpec& spec) {
    const std::string path = spec_path(spec, places_);
    const bool was_there = ::access(path.c_str(), F_OK) == 0 || errno != ENOENT;
    TRY(put_cdi_spec(places_.cdi_dir, spec));
    if (!was_there) written_.paths.push_back(path);
    return {};
  }

  const AllocatePlaces& places_;
  PreparedFiles written_;
};

Result<> write_part(const Part& part, const AllocatePlaces& places, Written& written) {
  if (!part.allocation.files.empty())
    TRY(make_public_folder(places.device_info_dir), "make the device-info folder");
  if (part.pool->config.pod_files.any())
    TRY(with_id(ErrorId::pod_files, make_pod_files(part.allocation, places)),
        "make the default files of pods");
  TRY(written.write(part.allocation));
  for (const AllocatedUnit& unit : TRY(bundles_of(part))) TRY(written.write(unit));
  return {};
}

// Adds what `out` does not have. Of two mounts at one place the first stays: vfrail-cni writes the same files
// into the folders of all devices of a pod.
void add_edits(const ContainerEdits& more, ContainerEdits& out) {
  out.env.insert(more.env.begin(), more.env.end());
  for (const DeviceNode& node : more.nodes) {
    if (std::find(out.nodes.begin(), out.nodes.end(), node) == out.nodes.end()) out.nodes.push_back(node);
  }
  for (const Mount& mount : more.mounts) {
    const auto is_there = [&](const Mount& one) { return one.container_path == mount.container_path; };
    if (std::none_of(out.mounts.begin(), out.mounts.end(), is_there)) out.mounts.push_back(mount);
  }
  out.hooks.insert(out.hooks.end(), more.hooks.begin(), more.hooks.end());
  out.cdi_devices.insert(out.cdi_devices.end(), more.cdi_devices.begin(), more.cdi_devices.end());
}

Result<std::vector<ContainerEdits>> write_all(const std::vector<Container>& containers,
                                              const AllocatePlaces& places) {
  Written written(places);
  std::vector<ContainerEdits> out;
  for (const Container& container : containers) {
    ContainerEdits& edits = out.emplace_back();
    for (const Part& part : container) {
      TRY(write_part(part, places, written));
      add_edits(part.allocation.edits, edits);
    }
  }
  written.keep();
  return out;
}

// What will be written, so that the record can name it before.
Result<PreparedFiles> files_of(const std::vector<Container>& containers, const AllocatePlaces& places) {
  PreparedFiles out;
  for (const Container& container : containers) {
    for (const Part& part : container) {
      for (const DeviceInfoFile& file : part.allocation.files) out.paths.push_back(info_path(file, places));
      // Those of a shared pool are in use by others as well.
      if (!shares(part.pool->config)) {
        for (const auto& [device, spec] : part.allocation.specs) out.paths.push_back(spec_path(spec, places));
      }
      for (const auto& [device, nodes] : part.allocation.allocated_nodes)
        out.allocated_nodes.push_back(TRY(DeviceId::parse(device)));
      for (AllocatedUnit& unit : TRY(bundles_of(part))) out.units.push_back(std::move(unit));
    }
  }
  return out;
}

std::vector<std::vector<AskedUnits>> names_of(const std::vector<ContainerUnits>& containers) {
  std::vector<std::vector<AskedUnits>> out;
  for (const ContainerUnits& container : containers) {
    auto& asked = out.emplace_back();
    for (const UnitsOfPool& one : container) asked.push_back({one.pool->resource(), one.units});
  }
  return out;
}

template <class Item>
void keep_missing_in(const std::vector<Item>& others, std::vector<Item>& items) {
  std::erase_if(
      items, [&](const Item& item) { return std::find(others.begin(), others.end(), item) != others.end(); });
}

}  // namespace

Result<std::vector<ContainerEdits>> prepare(const std::vector<ContainerUnits>& containers,
                                            const AllocatePlaces& places) {
  return write_all(TRY(compute(containers, places)), places);
}

Result<std::vector<ContainerEdits>> prepare(const PublishedPool& pool,
                                            const std::vector<std::vector<std::string>>& containers,
                                            const AllocatePlaces& places) {
  std::vector<ContainerUnits> all;
  for (const std::vector<std::string>& units : containers) all.push_back({{pool, units}});
  return prepare(all, places);
}

Result<std::vector<ContainerEdits>> prepare_for(const std::string& owner,
                                                const std::vector<ContainerUnits>& containers,
                                                const AllocatePlaces& places) {
  PreparedRecord record{.owner = owner, .asked = names_of(containers), .files = {}};
  auto known = TRY(read_prepared(places.run_dir, owner), "read what was prepared for " + owner);
  if (known && known->asked != record.asked)
    return Error{Errc::busy, 0,
                 "other devices are prepared for " + owner + "; they have to be released first"};
  if (known && known->edits) return *std::move(known->edits);
  const auto parts = TRY(compute(containers, places));
  record.files = TRY(files_of(parts, places));
  TRY(write_prepared(places.run_dir, record), "record what is prepared for " + owner);
  auto edits = write_all(parts, places);
  if (edits) {
    record.edits = *edits;
    if (const auto saved = write_prepared(places.run_dir, record); !saved) edits = saved.error();
  }
  if (edits) return edits;
  const auto released = release(owner, places);
  return std::move(edits.error()).and_also(released ? "" : released.error().text);
}

Result<> release(const std::string& owner, const AllocatePlaces& places) {
  auto record = TRY(read_prepared(places.run_dir, owner), "read what was prepared for " + owner);
  if (!record) return {};
  for (const std::string& other : TRY(list_prepared(places.run_dir))) {
    const auto theirs = other == owner ? std::nullopt : TRY(read_prepared(places.run_dir, other));
    if (!theirs) continue;
    keep_missing_in(theirs->files.paths, record->files.paths);
    keep_missing_in(theirs->files.allocated_nodes, record->files.allocated_nodes);
    keep_missing_in(theirs->files.units, record->files.units);
  }
  TRY(remove_files(record->files, places), "remove what was prepared for " + owner);
  return remove_prepared(places.run_dir, owner);
}

}  // namespace vfrail::plugin
