// Rails: the ports of a node that carry RDMA, grouped by what makes them equal for a pod: fabric, speed, and
// how far the nearest GPU is. A pool has devices of one group. Pure.
#pragma once

#include "common/node/distance.h"
#include "plugin/admin/report/hardware.h"
#include "plugin/device/inventory/inventory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// A port, and what pods can have of it.
struct Rail {
  PciAddress address;                   // of the PF; of a VF in a virtual machine its own
  const DeviceFacts* card = nullptr;    // the PF; null: it is not here, or serves the host
  std::vector<const DeviceFacts*> vfs;  // by address
  const DeviceFacts& any() const { return card != nullptr ? *card : *vfs.front(); }
};

struct RailGroup {
  Transport fabric = Transport::infiniband;
  std::optional<uint32_t> speed_mbps;  // no value: not known
  std::optional<Distance> gpu;         // of the nearest; no value: no GPU
  bool addressed = false;              // the host has an address on each card
  std::vector<Rail> rails;             // by address
  std::string other;                   // why it is not for pods, where others are better; empty: it is

  std::vector<const DeviceFacts*> cards() const;
  std::vector<const DeviceFacts*> vfs() const;
  bool has_vfs() const;  // every rail
  // All of it, to this virtual machine: SR-IOV is another machine's.
  bool passed_through() const;
};

// Those for pods first.
std::vector<RailGroup> group_rails(const Inventory& inventory, const HardwareById& hardware);

// Whether one of its own ports, or of a VF one of its PF's, is known not to be ACTIVE.
bool is_down(const DeviceFacts& function);
// So, on Ethernet, and its interface is up: a pod cannot bring it up, and by default `health` does not ask
// for it. One whose interface is down a pod brings up.
bool has_no_link(const DeviceFacts& function);

// "200 Gb/s"; empty: not known.
std::string speed_text(const std::optional<uint32_t>& mbps);
// By its own port, and of a VF by its PF's; no value while the link is down, when a port states another.
std::optional<uint32_t> speed_of(const HardwareById& hardware, const DeviceFacts& function);

}  // namespace vfrail::plugin
