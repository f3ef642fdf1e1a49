// prepare(): prepares devices for containers, for kubelet's Allocate as for any other front end: checks every
// device of every container, reads their facts again, works out what each container gets, and only then
// writes CDI specs, device-info files, AllocatedNodes and AllocatedUnits; release() removes them. Knows
// neither gRPC nor Protobuf.
#pragma once

#include "common/container/container_edits.h"
#include "common/node/sys_root.h"
#include "common/programs.h"
#include "common/result.h"
#include "plugin/device/match/published_pool.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct AllocatePlaces {
  SysRoot sys;                       // the node
  std::string device_info_dir;       // read by Multus: "/var/run/k8s.cni.cncf.io/devinfo/dp"
  std::string run_dir;               // AllocatedNodes, for vfrail-cni: "/run/vfrail"
  std::string cni_dir = kCniFolder;  // on the host: vfrail-cni and vfrail-check
  std::string cdi_dir{};        // read by the container runtime; empty: the front end passes all edits itself
  std::string cni_state_dir{};  // vfrail-cni's records of what pods have; empty: not known
};

// Units of one pool that a container asks for.
struct UnitsOfPool {
  PublishedPool pool;
  std::vector<std::string> units;
};
using ContainerUnits = std::vector<UnitsOfPool>;

// The edits of each container, in order. With CDI the edits of each device are in a spec that is written now,
// and the container's are its name and the variables. An error has changed nothing: Errc::invalid for an
// empty list, an id that is requested twice or a `memlock` without CDI, Errc::not_found for one that is not
// in the pool or has vanished from the node, Errc::not_yet for one that is returning from a pod
// (return_wait.h). Concurrent requests are fine as long as no device is in both, which kubelet and the
// scheduler ensure.
Result<std::vector<ContainerEdits>> prepare(const std::vector<ContainerUnits>& containers,
                                            const AllocatePlaces& places);
// Of one pool, as kubelet asks: `containers` are the ids of the units that each asks for. Kubelet does not
// say for which pod, so there is no record: an Allocate of the same device replaces what the one before has
// written.
Result<std::vector<ContainerEdits>> prepare(const PublishedPool& pool,
                                            const std::vector<std::vector<std::string>>& containers,
                                            const AllocatePlaces& places);

// Prepares for an owner, by its uid (prepared_record.h), and is idempotent, also across processes: what was
// prepared for it is verified and answered again. Files of devices that are in the host are written anew if
// they are missing or the device nodes have other numbers; those of devices that a pod has stay, and one that
// is missing then is an error. Errc::busy if other units were prepared for it. What a killed prepare has left
// is prepared anew. One call at a time for an owner.
Result<std::vector<ContainerEdits>> prepare_for(const std::string& owner,
                                                const std::vector<ContainerUnits>& containers,
                                                const AllocatePlaces& places);
// The inverse of prepare_for(): removes all that it has written, the record last. Done if there is no record.
// What another owner's record names as well stays. Touches no device: vfrail-cni returns those.
Result<> release(const std::string& owner, const AllocatePlaces& places);

}  // namespace vfrail::plugin
