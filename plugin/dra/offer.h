// Offer: the units of pools as devices of ResourceSlices (resource.k8s.io/v1): their names, the attributes by
// which claims select them, taints, and the order, in which the scheduler takes the first that fits. Pure.
//
// Every device has every attribute of ours: a CEL expression that names one which a candidate lacks ends the
// allocation with an error. So one that has nothing to say is "" or -1. None of them changes when a pod gets
// the device: each change is a write to the API server.
#pragma once

#include "common/container/claim_name.h"
#include "common/json.h"
#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/published_pool.h"
#include "plugin/dra/port_details.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vfrail::plugin {

// The key of taints; the value is the fault's code: "port_down".
inline constexpr const char* kUnhealthyTaint = "vfrail.io/unhealthy";

struct OfferedDevice {
  std::string name;      // of the ResourceSlice (slice_devices.h)
  std::string resource;  // "nvidia.com/hostdev"
  std::string unit;      // of its pool
  Json device;           // an entry of spec.devices
};

// What a device was last called in the host, where it is not while a pod has it.
struct HostNames {
  std::string netdev;
  std::string rdma;
};
using KnownNames = std::map<std::string, HostNames>;  // by the device's id

struct OfferOptions {
  std::string driver = kDraDriver;
  // Also attributes of the domain dra.net that claims written for DRANET select by.
  bool for_dranet = false;
  uint32_t lanes = 1;  // of a shared device
  // pcieRoot is that of the card's Data Direct function where it has one: there its GPUs are.
  bool root_of_data_direct = false;
};

// The devices of pools that go by claims. Those that a pod has by kubelet's device plugin are left out:
// the scheduler does not know of such a pod. `names` are brought up to date.
std::vector<OfferedDevice> make_offer(const std::vector<PublishedPool>& pools, const DevicesInUse& in_use,
                                      const OfferOptions& options, KnownNames& names,
                                      const PortsByFunction& ports = {});

// The attributes of one device of a pool, as make_offer() has them now. Null: the pool has none of that name.
Json find_attributes(const PublishedPool& pool, const std::string& device, const OfferOptions& options,
                     const PortsByFunction& ports);

}  // namespace vfrail::plugin
