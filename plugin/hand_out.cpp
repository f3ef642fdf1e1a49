#include "plugin/hand_out.h"

#include "common/files.h"
#include "common/promise.h"
#include "plugin/function_folder.h"
#include "plugin/units.h"

#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace vfrail {

namespace {

// Asked at each Allocate and not at the scan: loading vhost_net or rdma_ucm later needs no restart.
NodeFacts read_node(const SysRoot& sys) {
  return NodeFacts{.rdma_cm = sys.exists("dev/infiniband/rdma_cm"),
                   .vhost_net = sys.exists("dev/vhost-net") && sys.exists("dev/net/tun")};
}

std::string function_folder(const Function& function) {
  return function.aux_name.empty() ? pci_folder(function.address) : auxiliary_folder(function.aux_name);
}

// What extraDeviceNodes means for one device: "/dev/knem" itself, "cxi/*" what the device's folder cxi names.
Result<std::vector<std::string>> find_extra_nodes(const ResourceConfig& resource, const Function& function,
                                                  const SysRoot& sys) {
  std::vector<std::string> out;
  for (const std::string& wanted : resource.extra_nodes) {
    if (!wanted.ends_with("/*")) {
      if (!sys.exists(wanted.substr(1)))
        return Error{Errc::not_found, 0, "extraDeviceNodes: there is no " + wanted + " on this node"};
      out.push_back(wanted);
      continue;
    }
    const std::string folder = wanted.substr(0, wanted.size() - 2);
    for (const std::string& name : sys.list(function_folder(function) + "/" + folder))
      out.push_back("/dev/" + name);
  }
  return out;
}

// The device with its facts of now; nothing if it has vanished.
Result<std::optional<PoolDevice>> read_device(const Pool& pool, const PoolDevice& known, const SysRoot& sys) {
  auto facts = TRY(read_function(sys, known.facts), "read the facts of device " + known.id());
  if (!facts) return std::optional<PoolDevice>();
  PoolDevice fresh = known;
  fresh.facts = std::move(*facts);
  fresh.extra_nodes = TRY(find_extra_nodes(pool.config, fresh.facts, sys), "device " + known.id());
  return std::optional(std::move(fresh));
}

// The devices that a container's units stand for, each once. Of a shared unit those count that can be used
// now: it promises no particular one.
Result<std::vector<PoolDevice>> read_devices(const Pool& pool, const std::vector<const Unit*>& units,
                                             const SysRoot& sys) {
  std::vector<PoolDevice> out;
  std::set<std::string> seen;
  const bool any_will_do = pool.config.unit == UnitKind::shared;
  for (const Unit* unit : units) {
    if (pool.config.unit == UnitKind::bundle && !unit->fault.empty())
      return Error{Errc::busy, 0, unit->id + " is not complete: " + unit->fault};
    for (const PoolDevice* device : unit->devices) {
      if (!seen.insert(device->id()).second) continue;
      auto fresh = TRY(read_device(pool, *device, sys), "");
      const bool usable = fresh && !(any_will_do && fresh->facts.rdma.empty());
      if (usable) out.push_back(std::move(*fresh));
      if (!usable && !any_will_do)
        return Error{Errc::not_found, 0, "device " + device->id() + " has vanished from the node"};
    }
  }
  if (out.empty())
    return Error{Errc::not_found, 0, pool.resource() + " has no RDMA device that can be used now"};
  return out;
}

Result<std::vector<Allocation>> compute(const Pool& pool,
                                        const std::vector<std::vector<std::string>>& containers,
                                        const SysRoot& sys) {
  const NodeFacts node = read_node(sys);
  const std::vector<Unit> units = make_units(pool);
  std::map<std::string_view, const Unit*> by_id;
  for (const Unit& unit : units) by_id.emplace(unit.id, &unit);
  std::set<std::string> asked;
  std::vector<Allocation> out;
  for (const std::vector<std::string>& ids : containers) {
    if (ids.empty()) return Error{Errc::invalid, 0, "a container asks for no device of " + pool.resource()};
    std::vector<const Unit*> wanted;
    for (const std::string& id : ids) {
      if (!asked.insert(id).second) return Error{Errc::invalid, 0, "device '" + id + "' is asked for twice"};
      const auto unit = by_id.find(id);
      if (unit == by_id.end())
        return Error{Errc::not_found, 0, "device '" + id + "' is not in the pool of " + pool.resource()};
      wanted.push_back(unit->second);
    }
    const auto devices = TRY(read_devices(pool, wanted, sys), "");
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
    for (const DeviceInfoFile& file : allocation.files) {
      std::string path = places_.device_info_dir + "/" + file.name;
      TRY(write_file(path, file.content, 0444, Durability::renamed), "write device information");
      files_.push_back(std::move(path));
    }
    for (const auto& [device, nodes] : allocation.promises) {
      DeviceId id = TRY(DeviceId::parse(device), "write the promise");
      TRY(write_promise(places_.run_dir, id, nodes), "write the promise of device " + device);
      promises_.push_back(std::move(id));
    }
    return {};
  }

  void keep() {
    files_.clear();
    promises_.clear();
  }

 private:
  const HandOutPlaces& places_;
  std::vector<std::string> files_;
  std::vector<DeviceId> promises_;
};

}  // namespace

Result<std::vector<Allocation>> hand_out(const Pool& pool,
                                         const std::vector<std::vector<std::string>>& containers,
                                         const HandOutPlaces& places) {
  auto out = TRY(compute(pool, containers, places.sys), "");
  TRY(make_public_folder(places.device_info_dir), "make the device-info folder");
  Written written(places);
  for (const Allocation& allocation : out) TRY(written.write(allocation), "");
  written.keep();
  return out;
}

}  // namespace vfrail
