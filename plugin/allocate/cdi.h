// CDI: how an Allocation's device nodes are told to the container runtime instead of to kubelet: the specs
// that are to be written, and the names by which kubelet asks the runtime for them. Pure.
#pragma once

#include "plugin/allocate/allocation.h"
#include "plugin/config/config.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail {

// What CDI calls a device: "nvidia.com/net-pci=0000:03:02.1" as sriov-network-device-plugin does. Shared
// pools have the kind of k8s-rdma-shared-dev-plugin, and the resource in the name, because several of them
// may have the same device: "nvidia.com/net-rdma=rdma:hca_a:0000:03:00.0".
CdiSpec cdi_name(const ResourceConfig& resource, const std::string& device_id);

// Moves the nodes of each device into a spec. A device without nodes gets none, and no name.
void use_cdi(const ResourceConfig& resource, Allocation& allocation);

// For ContainerAllocateResponse.cdi_devices, which kubelet reads since 1.28.
std::vector<std::string> cdi_devices(const Allocation& allocation);
// The same as the one annotation that older kubelets hand on. kubelet keeps one value for a key, so the key
// is another one for each resource and each set of devices. Empty if there are no names.
std::map<std::string, std::string> cdi_annotations(const ResourceConfig& resource,
                                                   const Allocation& allocation);

}  // namespace vfrail
