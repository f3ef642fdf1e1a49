#include "cni/steps/cdi_step.h"

#include "cni/node/device.h"
#include "common/container/cdi_runtime.h"
#include "common/container/cdi_spec.h"
#include "common/errors/error_id.h"
#include "common/text.h"

namespace vfrail::cni {

Result<> correct_cdi_spec(const Record& record, const AttachPlan& plan, World& world) {
  if (plan.cdi_spec.empty() || !record.device) return {};
  const auto folders = with_folders_of_runtime(plan.cdi_spec, world.cdi_folders, world.sys);
  const auto file = TRY(with_id(ErrorId::cdi_spec, find_cdi_spec(plan.cdi_spec, folders)),
                        "read the CDI spec of " + record.device_key);
  if (!file) return {};
  auto spec = TRY(with_id(ErrorId::cdi_spec, read_cdi_spec(file->path())),
                  "read the CDI spec of " + record.device_key);
  if (!spec || !has_rdma_nodes(*spec)) return {};
  // Its numbers change only when it moves, and the device's lock excludes other movers.
  const auto nodes =
      TRY(read_rdma_nodes(world.sys, *record.device), "read the device nodes of " + record.device_key);
  if (nodes.empty()) {
    return Error{Errc::busy, 0,
                 record.device_key +
                     " has no RDMA device nodes any more, but its container was allocated some (" +
                     plan.cdi_spec + "); delete the pod, so that kubelet allocates again",
                 ErrorId::rdma_nodes_changed};
  }
  if (!replace_rdma_nodes(*spec, nodes)) return {};
  // A fixed name, since only this process may write it: the next ADD renames what a kill leaves there.
  TRY(with_id(ErrorId::cdi_spec, write_cdi_spec(file->path(), file->path() + ".new", *spec)),
      "correct the CDI spec of " + record.device_key);
  world.log.info("the device nodes have other numbers now, the CDI spec has them",
                 {{"device", record.device_key}, {"nodes", joined(nodes)}});
  return {};
}

}  // namespace vfrail::cni
