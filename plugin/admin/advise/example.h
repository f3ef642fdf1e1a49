// The YAML of a pod or job that has devices of a configured resource. Pure.
#pragma once

#include "common/result.h"
#include "plugin/admin/report/hardware.h"
#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct ExampleRequest {
  std::string resource = {};  // "rdma/ib_pf"; "rdma/ib_rail*": a unit of each that matches
  std::string kind = "pod";   // of job_kinds()
  uint32_t gpus = 0;          // of a pod
  bool claim = false;         // by a ResourceClaim, and not by limits of the container
  // One for each unit; none: those that the text defines, where it needs them.
  std::vector<std::string> networks = {};
};

// Whether Multus passes each unit of such a resource to a network. Shared devices are device nodes alone.
bool needs_network(const ResourceConfig& resource);

// `node`: one that the pod can run on, by which it gets the devices that belong to its GPUs; null, or without
// a device of the resource: not known. `hardware` is the node's.
// Errors: the configuration has no such resource; the request contradicts it.
Result<std::string> make_example(const Config& config, const ExampleRequest& request,
                                 const Inventory* node = nullptr, const HardwareById& hardware = {});

}  // namespace vfrail::plugin
