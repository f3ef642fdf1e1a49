#include "plugin/admin/plan/dra_advice.h"

#include "common/text.h"

#include <algorithm>
#include <set>

namespace vfrail::plugin {

namespace {

// Of these a pod has a device alone.
bool gives_own_device(WayKind kind) {
  return kind == WayKind::bundle || kind == WayKind::per_rail || kind == WayKind::whole ||
         kind == WayKind::vfs || kind == WayKind::sub_functions;
}

// The attribute resource.kubernetes.io/pcieRoot of what the recommended ways give.
std::set<std::string> roots_of(const Plan& plan) {
  std::set<std::string> out;
  for (const FabricPlan& fabric : plan.fabrics) {
    if (!gives_own_device(fabric.recommended)) continue;
    for (const Rail& rail : fabric.group.rails) {
      if (!rail.any().pcie_path.empty()) out.insert(rail.any().pcie_path.front());
    }
  }
  return out;
}

constexpr const char* kStay =
    "kubelet's Topology Manager aligns CPUs with devices of a device plugin, and not with those of DRA";

}  // namespace

std::string advise_dra(const Plan& plan) {
  if (plan.fabrics.empty()) return "";
  const bool exclusive = std::any_of(plan.fabrics.begin(), plan.fabrics.end(), [](const FabricPlan& fabric) {
    return gives_own_device(fabric.recommended);
  });
  if (!exclusive) return "The device plugin: devices that pods share do not go by DRA.";
  const auto& gpus = plan.facts.inventory.gpus;
  if (gpus.empty())
    return std::string("The device plugin: without GPUs there is nothing that DRA would align, and ") +
           kStay + ".";
  const std::set<std::string> roots = roots_of(plan);
  const auto aligned = std::count_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
    return !gpu.pcie_path.empty() && roots.contains(gpu.pcie_path.front());
  });
  if (aligned == 0)
    return std::string(
               "The device plugin: no GPU is below a PCIe root with one of these devices, by which "
               "claims align them, and ") +
           kStay + ".";
  return "DRA is the better way where pods have fewer GPUs than the node: one claim gives a pod a GPU and a "
         "device below the same PCIe root (" +
         std::to_string(aligned) + " of " + counted(gpus.size(), "GPU") +
         " have such a device), which a device plugin cannot. It needs Kubernetes 1.34 or later, CDI and a "
         "Multus newer than 4.3.0 (manifests/README.md). Stay with the device plugin where pods have all "
         "GPUs, or need CPUs beside their devices: " +
         kStay + ".";
}

}  // namespace vfrail::plugin
