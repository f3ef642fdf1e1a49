// Allocation: what a container gets for the devices that kubelet chose. Pure: pool, ids and fresh facts in,
// environment, device nodes and device-info files out.
#pragma once

#include "common/node/cdi_spec.h"
#include "common/node/device_node.h"
#include "plugin/match/pools.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail {

struct DeviceInfoFile {
  std::string name;     // "nvidia.com-hostdev-0000:03:02.1-device.json"
  std::string content;  // device-info specification 1.1.0
};

struct Allocation {
  std::map<std::string, std::string> envs;
  std::vector<DeviceNode> nodes;
  std::map<std::string, std::vector<DeviceNode>> nodes_of;  // device id -> its own of them, maybe none
  std::map<std::string, CdiSpec> cdi;                       // device id -> with CDI, in the place of nodes
  std::vector<DeviceInfoFile> files;
  // Device id -> RDMA nodes told, for common/node/allocated_nodes.h.
  std::map<std::string, std::vector<std::string>> allocated_nodes;
};

// What is on the node beside the devices themselves.
struct NodeFacts {
  bool rdma_cm = false;
  bool vhost_net = false;
  bool iommufd = false;  // /dev/iommu, if the resource asks for it
};

// `devices` are pool devices with facts just read. Errors: Errc::invalid for a duplicate or empty list.
Result<Allocation> allocate(const Pool& pool, const std::vector<PoolDevice>& devices, const NodeFacts& node);

}  // namespace vfrail
