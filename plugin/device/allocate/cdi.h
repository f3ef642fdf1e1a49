// CDI: how the edits of an Allocation reach the container runtime by specs: the specs to write, and the names
// by which the runtime finds them. Pure.
#pragma once

#include "plugin/device/allocate/allocation.h"
#include "plugin/device/config/config.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail::plugin {

// The kind of what a ResourceClaim's request gets beside its devices (plugin/dra/prepare_claim.h). Such a
// spec is of a claim and of no device: whoever unprepares the claim removes it.
inline constexpr const char* kClaimCdiKind = "vfrail.io/claim";

// A device's name in CDI: "nvidia.com/net-pci=0000:03:02.1" as sriov-network-device-plugin does. Shared pools
// have the kind of k8s-rdma-shared-dev-plugin, and the resource in the name, because several of them may have
// the same device: "nvidia.com/net-rdma=rdma:hca_a:0000:03:00.0". A prefix that CDI refuses as a vendor has
// another one: "vfrail.5g.example.com/net-pci=...".
CdiSpec cdi_name(const ResourceConfig& resource, const std::string& device_id);

// Moves each device's own edits into a spec; the rest is the variables, which are about all devices together,
// and the specs' names. A device without edits gets no spec, and no name. A resource's `memlock` is a hook of
// each spec, run by the vfrail-cni in `cni_folder` of the host: a runtime runs it once for each device, and
// only the first raises anything.
void use_cdi(const ResourceConfig& resource, const std::string& cni_folder, Allocation& allocation);

// The names as the one annotation that kubelets before 1.28 pass on. kubelet keeps one value for a key, so
// the key differs for each resource and each set of devices. Empty if there are no names.
std::map<std::string, std::string> cdi_annotations(const ResourceConfig& resource,
                                                   const std::vector<std::string>& cdi_devices);

}  // namespace vfrail::plugin
