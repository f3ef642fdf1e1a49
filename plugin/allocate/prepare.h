// prepare(): prepares devices for containers, for kubelet's Allocate as for any other front end: checks every
// device of every container, reads their facts again, works out what each container gets, and only then
// writes CDI specs, device-info files, AllocatedNodes and AllocatedUnits. Knows neither gRPC nor Protobuf.
#pragma once

#include "common/container/container_edits.h"
#include "common/node/sys_root.h"
#include "common/programs.h"
#include "common/result.h"
#include "plugin/match/published_pool.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct AllocatePlaces {
  SysRoot sys;                       // the node
  std::string device_info_dir;       // read by Multus: "/var/run/k8s.cni.cncf.io/devinfo/dp"
  std::string run_dir;               // AllocatedNodes, for vfrail-cni: "/run/vfrail"
  std::string cni_dir = kCniFolder;  // on the host: vfrail-cni and vfrail-check
  std::string cdi_dir{};  // read by the container runtime; empty: the front end passes all edits itself
};

// The edits of each container, in order; `containers` are the ids of the units that each asks for. With CDI
// the edits of each device are in a spec that is written now, and the container's are its name and the
// variables. An error has changed nothing: Errc::invalid for an empty list, an id that is requested twice or
// a `memlock` without CDI, Errc::not_found for one that is not in the pool or has vanished from the node.
// Concurrent requests are fine as long as no device is in both, which kubelet and the scheduler ensure.
Result<std::vector<ContainerEdits>> prepare(const PublishedPool& pool,
                                            const std::vector<std::vector<std::string>>& containers,
                                            const AllocatePlaces& places);

}  // namespace vfrail::plugin
