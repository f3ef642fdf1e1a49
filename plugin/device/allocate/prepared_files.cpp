#include "plugin/device/allocate/prepared_files.h"

#include "common/container/allocated_nodes.h"
#include "common/container/allocated_unit.h"
#include "common/container/pod_folder.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "plugin/device/allocate/allocation.h"
#include "plugin/device/allocate/cdi_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace vfrail::plugin {

namespace {

std::string spec_path(const CdiSpec& spec, const AllocatePlaces& places) {
  return places.cdi_dir + "/" + spec.file_name();
}

std::string info_path(const DeviceInfoFile& file, const AllocatePlaces& places) {
  return places.device_info_dir + "/" + file.name;
}

// For vfrail-cni, to which Multus names the unit and not its devices.
Result<std::vector<AllocatedUnit>> bundles_of(const AllocatedPart& part) {
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

// Whether containers may be created from the files that are there.
enum class OlderFiles : uint8_t { unused, in_use };

// Files of this request. New ones are removed again unless all of them could be written: older files of a
// device belong to a pod that is gone, or kubelet would not allocate it again.
class Written {
 public:
  Written(const AllocatePlaces& places, OlderFiles older) : places_(places), older_(older) {}
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() {
    if (older_ == OlderFiles::unused) (void)remove_prepared_files(written_, places_);
  }

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
    if (older_ == OlderFiles::in_use && was_there) {
      // vfrail-cni may be about to correct it: what is right already is not written over.
      const auto there = read_cdi_spec(path);
      if (there && *there && **there == spec) return {};
    }
    TRY(put_cdi_spec(places_.cdi_dir, spec));
    if (!was_there) written_.paths.push_back(path);
    return {};
  }

  const AllocatePlaces& places_;
  const OlderFiles older_;
  PreparedFiles written_;
};

Result<> write_part(const AllocatedPart& part, const AllocatePlaces& places, Written& written) {
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

Result<std::vector<ContainerEdits>> write_all(const std::vector<AllocatedContainer>& containers,
                                              const AllocatePlaces& places, OlderFiles older) {
  Written written(places, older);
  std::vector<ContainerEdits> out;
  for (const AllocatedContainer& container : containers) {
    ContainerEdits& edits = out.emplace_back();
    for (const AllocatedPart& part : container) {
      TRY(write_part(part, places, written));
      add_edits(part.allocation.edits, edits);
    }
  }
  written.keep();
  return out;
}

}  // namespace

Result<PreparedFiles> files_of(const std::vector<AllocatedContainer>& containers,
                               const AllocatePlaces& places) {
  PreparedFiles out;
  for (const AllocatedContainer& container : containers) {
    for (const AllocatedPart& part : container) {
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

Result<std::vector<ContainerEdits>> write_prepared_files(const std::vector<AllocatedContainer>& containers,
                                                         const AllocatePlaces& places) {
  return write_all(containers, places, OlderFiles::unused);
}

Result<std::vector<ContainerEdits>> renew_prepared_files(const std::vector<AllocatedContainer>& containers,
                                                         const AllocatePlaces& places) {
  return write_all(containers, places, OlderFiles::in_use);
}

Result<> remove_prepared_files(const PreparedFiles& files, const AllocatePlaces& places) {
  Result<> out;
  const auto note = [&](Result<> removed) {
    if (out && !removed) out = std::move(removed);
  };
  for (const std::string& path : files.paths) note(remove_file(path));
  for (const DeviceId& id : files.allocated_nodes) note(remove_allocated_nodes(places.run_dir, id));
  for (const AllocatedUnit& unit : files.units) note(remove_allocated_unit(places.run_dir, unit));
  return out;
}

}  // namespace vfrail::plugin
