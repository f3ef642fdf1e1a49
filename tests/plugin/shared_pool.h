// The pool of a shared RoCE device.
#pragma once

#include "plugin/device/match/pools.h"

namespace vfrail::test {
using namespace plugin;

// rdma/hca shares one RoCE device, whose interface is eth0.
inline Pools shared_pool(bool is_up, bool set_links_up = true) {
  Pool pool;
  pool.config.prefix = "rdma";
  pool.config.name = "hca";
  pool.config.unit = UnitKind::shared;
  pool.config.set_links_up = set_links_up;
  PoolDevice device;
  device.facts.address = *PciAddress::parse("0000:3b:00.0");
  device.facts.id = DeviceId(device.facts.address);
  device.facts.link_type = "ether";
  device.facts.netdevs.resize(1);
  device.facts.netdevs[0].name = "eth0";
  device.facts.netdevs[0].up = is_up;
  pool.devices.push_back(device);
  Pools out;
  out.pools.push_back(pool);
  return out;
}

}  // namespace vfrail::test
