// GPUs and rails: how far they are apart, and whether the one can reach the other's memory.
#include "cni/in_pod/checks/pod_check.h"
#include "cni/in_pod/facts/gpus.h"
#include "common/text.h"

#include <algorithm>

namespace vfrail::pod {

namespace {

struct Nearest {
  Distance distance = Distance::sys;
  std::vector<std::string> rails;  // all that are so near
};

Result<std::optional<Nearest>> nearest_rails(const CheckedPod& pod, const PodGpu& gpu) {
  std::optional<Nearest> out;
  for (const Rail& rail : pod.own_rails()) {
    const auto place = TRY(read_place(pod.sys, rail));
    if (!place) continue;
    const Distance now = distance(gpu.place, *place);
    if (!out || now < out->distance) out = Nearest{now, {}};
    if (now == out->distance) out->rails.push_back(rail.name);
  }
  return out;
}

// NCCL's NCCL_NET_GDR_LEVEL is PXB unless it is set.
Result<CheckResults> check_distances(const CheckedPod& pod) {
  CheckResults out;
  if (TRY(list_gpu_nodes(pod.sys)).empty() || pod.own_rails().empty()) return out;
  const auto gpus = TRY(read_gpus(pod.sys));
  if (!gpus)
    return CheckResults{{Finding::unknown, pod.sys.path("proc/driver/nvidia") +
                                               " is not there, so which GPUs these are is not known"}};
  for (const PodGpu& gpu : *gpus) {
    const auto nearest = TRY(nearest_rails(pod, gpu));
    if (!nearest || nearest->distance <= Distance::pxb) continue;
    out.push_back({Finding::advice,
                   gpu.node + " (" + gpu.address.text() + ") is " + word(nearest->distance) +
                       " from its nearest rails, " + first_few(nearest->rails) +
                       ": NCCL does not use GPUDirect RDMA between them",
                   "topologyManagerPolicy single-numa-node or restricted in kubelet's configuration; on the "
                   "node vfrail inspect --distances; NCCL_NET_GDR_LEVEL=PHB where the host bridge is fast"});
  }
  return out;
}

// As NCCL looks for it (ncclIbGdrSupport()).
Result<bool> has_peermem(const SysRoot& sys) {
  for (const char* file : {"sys/module/nvidia_peermem/version", "sys/kernel/mm/memory_peers/nv_mem/version",
                           "sys/kernel/mm/memory_peers/nv_mem_nc/version"}) {
    if (TRY(sys.exists(file))) return true;
  }
  return false;
}

// Of the kernel modules of the GPU's driver only the open ones export dma-buf. No value: it is not known.
Result<std::optional<bool>> has_open_driver(const SysRoot& sys) {
  const auto version = TRY(sys.text("proc/driver/nvidia/version"));
  if (!version) return std::optional<bool>();
  return std::optional(version->find("Open Kernel Module") != std::string::npos);
}

Result<CheckResults> check_gpu_memory(const CheckedPod& pod) {
  const auto rails = pod.own_rails();
  if (TRY(list_gpu_nodes(pod.sys)).empty() || rails.empty() || TRY(has_peermem(pod.sys)))
    return CheckResults();
  constexpr const char* kRemedy =
      "the open kernel modules of the GPU's driver, with a kernel from 5.12 on; or nvidia_peermem with "
      "DOCA's "
      "RDMA drivers on the node";
  const auto open = TRY(has_open_driver(pod.sys));
  const std::string lost = ": GPUDirect RDMA does not work, and data goes through host memory";
  if (open == false)
    return CheckResults{
        {Finding::advice,
         "nvidia_peermem is not loaded, and the closed kernel modules of the GPU's driver have no "
         "dma-buf" +
             lost,
         kRemedy}};
  CheckResults out;
  bool is_known = pod.probes.has_value();
  for (const Rail& rail : rails) {
    const auto* probe = pod.find_verbs_probe(rail.name);
    is_known = is_known && probe != nullptr && probe->dmabuf;
    if (probe != nullptr && probe->dmabuf == false)
      out.push_back({Finding::advice,
                     "nvidia_peermem is not loaded, and the driver of " + shown_rail(rail) +
                         " cannot register dma-buf" + lost,
                     kRemedy});
  }
  if (out.empty() && (!is_known || !open))
    return CheckResults{
        {Finding::unknown,
         std::string("nvidia_peermem is not loaded, and whether dma-buf works "
                     "cannot be read: ") +
             (open ? "the rails were not tried" : "proc/driver/nvidia/version is not there")}};
  return out;
}

}  // namespace

const PodChecks& gpu_checks() {
  static const PodChecks kChecks = {
      {"VF-P18", "gpu-distance", "every GPU has a rail behind its own root port (PXB or nearer)",
       check_distances, lacks_gpu_rails},
      {"VF-P19", "gpu-memory", "rails can reach the GPUs' memory: by nvidia_peermem, or by dma-buf",
       check_gpu_memory, lacks_gpu_rails},
  };
  return kChecks;
}

}  // namespace vfrail::pod
