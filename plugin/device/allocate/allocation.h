// Allocation: what a container gets for the devices that were chosen for it. Pure: pool, ids and facts just
// read in, edits and the content of the files that belong to them out.
#pragma once

#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "common/container/container_edits.h"
#include "plugin/device/match/pools.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct DeviceInfoFile {
  std::string name;     // "nvidia.com-hostdev-0000:03:02.1-device.json"
  std::string content;  // device-info specification 1.1.0
};

struct Allocation {
  ContainerEdits edits;
  std::map<std::string, ContainerEdits> edits_of;  // device id -> its own edits, maybe none
  std::map<std::string, CdiSpec> specs;            // device id -> with CDI, what carries its own
  std::vector<DeviceInfoFile> files;
  // Device id -> its RDMA nodes, of each device that has some or whose spec vfrail-cni has to find, for
  // common/container/allocated_nodes.h.
  std::map<std::string, std::vector<std::string>> allocated_nodes;
};

// What is on the node beside the devices themselves.
struct NodeFacts {
  bool rdma_cm = false;
  bool vhost_net = false;
  bool iommufd = false;  // /dev/iommu, if the resource asks for it
  bool verbs = false;    // ib_uverbs is loaded
  std::string run_folder = kRunFolder;
  std::string check_program = {};  // on the host, if the resource asks for it and it is there
};

// `devices` are pool devices with facts just read. Errors: Errc::invalid for a duplicate or empty list.
Result<Allocation> allocate(const Pool& pool, const std::vector<PoolDevice>& devices, const NodeFacts& node);

}  // namespace vfrail::plugin
