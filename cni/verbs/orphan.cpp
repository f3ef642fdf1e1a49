#include "cni/verbs/orphan.h"

#include "cni/node/boot.h"
#include "cni/node/find_link.h"
#include "cni/node/namespaces.h"
#include "cni/steps/rdma_steps.h"
#include "cni/steps/wait_step.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// By its index, because a pod can have given another device its name; its driver was bound again if its
// function has one of that name, with another index.
Result<bool> has_rdma_in_host(const Record& record, World& world) {
  const MovedRdma& first = record.rdma.front();
  if (!first.index) return TRY(world.host.find_rdma_device(first.name)).has_value();
  for (const RdmaDevice& device : TRY(world.host.rdma_devices())) {
    if (device.index == first.index) return true;
  }
  if (!record.device) return false;
  const auto device = TRY(read_device(world.sys, *record.device, Facts::rdma)).value_or(Device());
  const auto names = device.rdma_names();
  return std::find(names.begin(), names.end(), first.name) != names.end();
}

Result<bool> is_in_host(const Record& record, World& world) {
  if (record.link) return TRY(find_link_in_host(record, world)).has_value();
  return has_rdma_in_host(record, world);
}

Result<bool> is_in(Kernel& pod, const Record& record, World& world) {
  if (record.link) return TRY(find_link_in_pod(record, pod)).has_value();
  return TRY(find_rdma_in_pod(record, record.rdma.front(), pod, world)).has_value();
}

// Another namespace can have the number of an ended one. It does not have the device, so only what moves can
// be looked for that way, and not what ends with its namespace.
Result<std::unique_ptr<Kernel>> find_pod(const Record& record, World& world) {
  auto pod = TRY(open_pod(record, "", world));
  const bool moves = record.link ? !record.link->ends_with_its_namespace() : !record.rdma.empty();
  return pod || !moves ? std::move(pod) : find_namespace(world, record.netns_id);
}

}  // namespace

Result<HoldResult> find_hold(const Record& record, World& world) {
  if (!TRY(from_this_boot(record, world))) return HoldResult{Hold::orphaned, "it is of an earlier boot"};
  const auto pod = TRY(find_pod(record, world));
  if (!pod) return HoldResult{Hold::orphaned, "its namespace has ended"};
  const bool moves = record.link || !record.rdma.empty();  // else (vfio) its namespace decides
  if (!moves || TRY(is_in(*pod, record, world))) return HoldResult{Hold::attached, "its pod still exists"};
  // Only its locks exclude an ADD that is about to move it, or a DEL that has just returned it.
  if (TRY(is_in_host(record, world)))
    return HoldResult{Hold::orphaned, "it is in the host although its pod lives: an ADD or DEL was killed"};
  if (!TRY(exists_somewhere(record, world)))
    return HoldResult{Hold::nowhere,
                      "it is neither in its pod nor in the host: its driver is unbound, or it has ended"};
  return HoldResult{Hold::elsewhere, "it is neither in its pod nor in the host: the pod has moved it on"};
}

Result<bool> is_attached(const Record& record, World& world) {
  const auto pod = TRY(open_pod(record, "", world));
  if (!pod) return false;
  if (record.link) return TRY(find_link_in_pod(record, *pod)).has_value();
  if (record.rdma.empty()) return true;  // nothing of it moves (vfio), so its namespace decides
  return TRY(find_rdma_in_pod(record, record.rdma.front(), *pod, world)).has_value();
}

}  // namespace vfrail::cni
