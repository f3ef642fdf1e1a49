#include "plugin/hand_out.h"

#include "common/files.h"
#include "common/promise.h"
#include "plugin/cdi.h"
#include "plugin/cdi_folder.h"

#include <cerrno>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace vfrail {

namespace {

// Asked at each Allocate and not at the scan: loading vhost_net or rdma_ucm later needs no restart.
NodeFacts read_node(const SysRoot& sys, const ResourceConfig& resource) {
  return NodeFacts{.rdma_cm = sys.exists("dev/infiniband/rdma_cm"),
                   .vhost_net = sys.exists("dev/vhost-net") && sys.exists("dev/net/tun"),
                   .iommufd = resource.iommufd && sys.exists("dev/iommu")};
}

Result<PoolDevice> read_device(const Pool& pool, const std::string& id, const SysRoot& sys) {
  const PoolDevice* known = pool.find(id);
  if (known == nullptr) {
    return Error{Errc::not_found, 0, "device '" + id + "' is not in the pool of " + pool.resource()};
  }
  auto facts = TRY(read_function(sys, known->facts.address), "read the facts of device " + id);
  if (!facts) return Error{Errc::not_found, 0, "device " + id + " has vanished from the node"};
  PoolDevice fresh = *known;
  fresh.facts = std::move(*facts);
  return fresh;
}

Result<std::vector<Allocation>> compute(const Pool& pool,
                                        const std::vector<std::vector<std::string>>& containers,
                                        const SysRoot& sys) {
  const NodeFacts node = read_node(sys, pool.config);
  std::set<std::string> asked;
  std::vector<Allocation> out;
  for (const std::vector<std::string>& ids : containers) {
    if (ids.empty()) return Error{Errc::invalid, 0, "a container asks for no device of " + pool.resource()};
    std::vector<PoolDevice> devices;
    for (const std::string& id : ids) {
      if (!asked.insert(id).second) {
        return Error{Errc::invalid, 0, "device '" + id + "' is asked for twice"};
      }
      devices.push_back(TRY(read_device(pool, id, sys), ""));
    }
    out.push_back(TRY(allocate(pool, devices, node), "work out what the container gets"));
  }
  return out;
}

// Multus runs as another program: the folder and what it holds is for everybody to read.
Result<> make_public_folder(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0) return {};
  TRY(make_folder(path, 0755), "");
  if (::chmod(path.c_str(), 0755) != 0) return Error::from_errno(errno, "chmod " + path);
  return {};
}

// Files of this request, removed again unless all of them could be written. What a device had before was
// left over from a pod that is gone, or kubelet would not hand it out again.
class Written {
 public:
  explicit Written(const HandOutPlaces& places) : places_(places) {}
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() {
    for (const std::string& path : files_) (void)remove_file(path);
    for (const DeviceId& id : promises_) (void)remove_promise(places_.run_dir, id);
  }

  Result<> write(const Allocation& allocation) {
    for (const auto& [device, spec] : allocation.cdi)
      TRY(write_spec(spec), "write the CDI spec of " + device);
    for (const DeviceInfoFile& file : allocation.files) {
      std::string path = places_.device_info_dir + "/" + file.name;
      TRY(write_file(path, file.content, 0444, Durability::renamed), "write device information");
      files_.push_back(std::move(path));
    }
    for (const auto& [device, nodes] : allocation.promises) {
      DeviceId id = TRY(DeviceId::parse(device), "write the promise");
      const auto spec = allocation.cdi.find(device);
      const Promise promise{nodes, spec == allocation.cdi.end() ? std::string() : spec_path(spec->second)};
      TRY(write_promise(places_.run_dir, id, promise), "write the promise of device " + device);
      promises_.push_back(std::move(id));
    }
    return {};
  }

  void keep() {
    files_.clear();
    promises_.clear();
  }

 private:
  std::string spec_path(const CdiSpec& spec) const { return places_.cdi_dir + "/" + spec.file_name(); }

  // One that was there may be in use, by other pods of a shared pool: what we put in its place is as good.
  Result<> write_spec(const CdiSpec& spec) {
    const bool was_there = ::access(spec_path(spec).c_str(), F_OK) == 0;
    TRY(put_cdi_spec(places_.cdi_dir, spec), "");
    if (!was_there) files_.push_back(spec_path(spec));
    return {};
  }

  const HandOutPlaces& places_;
  std::vector<std::string> files_;
  std::vector<DeviceId> promises_;
};

}  // namespace

Result<std::vector<Allocation>> hand_out(const Pool& pool,
                                         const std::vector<std::vector<std::string>>& containers,
                                         const HandOutPlaces& places) {
  auto out = TRY(compute(pool, containers, places.sys), "");
  for (Allocation& allocation : out) {
    if (!places.cdi_dir.empty()) use_cdi(pool.config, allocation);
  }
  TRY(make_public_folder(places.device_info_dir), "make the device-info folder");
  Written written(places);
  for (const Allocation& allocation : out) TRY(written.write(allocation), "");
  written.keep();
  return out;
}

}  // namespace vfrail
