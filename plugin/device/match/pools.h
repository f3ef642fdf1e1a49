// Pools: which device is in which pool, and why the others are in none. match() decides and reads nothing.
#pragma once

#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/fault.h"
#include "plugin/device/match/refusal.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace vfrail::plugin {

struct PoolDevice {
  DeviceFacts facts;
  bool rdma = false;  // allocate its RDMA device nodes
  bool vhost_net = false;
  std::string vdpa_type;                     // "", "virtio", "vhost"
  std::map<std::string, std::string> extra;  // additionalInfo, merged
  std::vector<std::string> extra_nodes;      // paths for extraDeviceNodes, known at Allocate
  Fault fault;                               // why it is unhealthy; none if it is healthy
  size_t rdma_nodes = 0;  // that its RDMA devices have when the kernel is not just making them (Debounce)

  std::string id() const { return facts.id.text(); }
};

struct Pool {
  ResourceConfig config;
  std::vector<PoolDevice> devices;  // sorted by address, sub-functions behind one another by name
  std::shared_ptr<const std::vector<Gpu>> gpus;       // of the node; may be null
  std::optional<RdmaNetnsMode> rdma_netns_mode = {};  // of the node; no value: not known

  std::string resource() const { return config.resource(); }
  const PoolDevice* find(const std::string& id) const;
};

// The devices of a pool by their ids, for callers with many of them; valid as long as the pool is not
// changed.
using DevicesById = std::unordered_map<std::string, const PoolDevice*>;
DevicesById index(const Pool& pool);

struct LeftOut {
  // The reasons in one word, for counting.
  enum class Kind : uint8_t {
    has_vfs,       // a PF whose VFs are advertised
    no_driver,     // none is bound
    host_use,      // a selector matches, but the host uses it
    not_selected,  // no selector matches
  };
  std::string id;
  std::vector<Refusal> reasons;  // at least one
  Kind kind = Kind::not_selected;
};

// The value of the metrics' label "reason": "has_vfs".
const char* name_of(LeftOut::Kind kind);
ErrorId id_of(LeftOut::Kind kind);
inline constexpr LeftOut::Kind kLastLeftOutKind = LeftOut::Kind::not_selected;

struct Pools {
  std::vector<Pool> pools;           // one for each resource of the config, in its order, also empty ones
  std::vector<LeftOut> left_out;     // every function that is in no pool
  std::vector<UnreadDevice> unread;  // in no pool, because nothing is known of them
  // RDMA devices that stay in the host and whose ports decide on the health of the pools' devices.
  std::set<std::string> port_devices;
  bool infiniband_ports =
      false;  // one of them has an InfiniBand port, whose state no event reports before 6.13
  std::vector<Warning> warnings;
  // CLOCK_BOOTTIME: when a device is healthy again although no event says so; no value: none is.
  std::optional<std::chrono::seconds> again_at;
};

// A function as a device of that resource, by one of its selectors.
PoolDevice make_device(const ResourceConfig& resource, const Selector& selector, const DeviceFacts& function);

// The ids of every device that the node has, also of those in no pool.
std::set<std::string> ids_of_all(const Pools& pools);

// Whether a pod may have a device of the pools, as far as the node shows (DeviceFacts::partly_away).
bool is_any_partly_away(const Pools& pools);

Pools match(const Config& config, const Inventory& inventory);

// Why pods cannot use the devices that the pool shares, by the RDMA mode; empty: they can, or it shares none.
std::string sharing_fault(const Pool& pool, const Inventory& inventory);

}  // namespace vfrail::plugin
