#include "plugin/admin/plan/ways.h"

#include "common/text.h"
#include "plugin/admin/plan/steps.h"
#include "plugin/admin/plan/way_config.h"
#include "plugin/device/match/units.h"
#include "plugin/device/prefer/distance.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

bool has_no_resource(WayKind kind) { return kind == WayKind::host_network || kind == WayKind::tcp; }

bool are_bare(const std::vector<const DeviceFacts*>& devices) {
  return std::all_of(devices.begin(), devices.end(), [](const DeviceFacts* function) {
    return function->netdevs.empty() && !function->away();
  });
}

// Ways that can be of use: rails are several, and sub-functions are mlx5's.
std::vector<WayKind> kinds_of(const RailGroup& group) {
  std::vector<WayKind> out;
  const auto cards = group.cards();
  const bool has_interfaces = !are_bare(group.has_vfs() ? group.vfs() : cards);
  if (group.rails.size() > 1 && has_interfaces) out = {WayKind::bundle, WayKind::per_rail};
  if (!cards.empty()) out.insert(out.end(), {WayKind::shared, WayKind::whole});
  out.push_back(WayKind::vfs);
  const bool mlx5 = !cards.empty() && std::all_of(cards.begin(), cards.end(), [](const DeviceFacts* card) {
    return card->driver.name() == "mlx5_core";
  });
  if (mlx5 && !group.passed_through()) out.push_back(WayKind::sub_functions);
  out.insert(out.end(), {WayKind::host_network, WayKind::tcp});
  return out;
}

std::string isolation_of(const PlanFacts& facts, WayKind kind) {
  if (kind == WayKind::shared || kind == WayKind::host_network) return "none";
  if (kind == WayKind::tcp) return "-";
  if (!facts.inventory.rdma_netns_mode) return "not known: needs the RDMA namespace mode";
  return *facts.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive ? "full" : "own device";
}

std::string address_of(const RailGroup& group, WayKind kind) {
  if (kind == WayKind::host_network) return "the host's";
  if (kind == WayKind::shared) return takes_hosts_address(group.fabric) ? "the host's" : "no";
  const bool of_vfs =
      kind == WayKind::vfs || ((kind == WayKind::bundle || kind == WayKind::per_rail) && group.has_vfs());
  const auto of = (of_vfs && !group.vfs().empty()) || group.cards().empty() ? group.vfs() : group.cards();
  if (are_bare(of)) return kind == WayKind::tcp ? "the pod's" : "no interface";
  return group.fabric == Transport::infiniband ? "IPoIB" : "yes";
}

// The same for every way with RDMA: all of them use the card's own path to the memory of the GPU.
std::string gpu_direct_of(const PlanFacts& facts, WayKind kind) {
  if (kind == WayKind::tcp) return "no RDMA";
  const auto& gpus = facts.inventory.gpus;
  if (gpus.empty()) return "no GPU";
  const CheckResult* result = find_result(facts, "VF-N26");
  const bool nvidia =
      std::all_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.vendor == "10de"; });
  if (!nvidia || result == nullptr || result->finding == Finding::unknown) return "not known";
  return result->finding == Finding::good ? "yes" : "no";
}

// Healthy to kubelet, and of no use to a pod.
bool is_dark(const PoolDevice& device) { return device.fault.empty() && has_no_link(device.facts); }

std::string names_of_faulty(const Way& way) {
  std::vector<std::string> out;
  for (const PoolDevice* device : way.devices()) {
    if (!device->fault.empty() || is_dark(*device)) out.push_back(device->id());
  }
  return first_few(out);
}

// Cards of a unit that has one of each, or of the node, that carry something.
size_t working_cards(const Way& way) {
  std::set<PciAddress> out;
  for (const PoolDevice* device : way.devices()) {
    if (device->fault.empty() && !is_dark(*device)) out.insert(port_of(device->facts));
  }
  return out.size();
}

uint32_t possible_vfs(const RailGroup& group) {
  uint32_t out = 0;
  for (const DeviceFacts* card : group.cards()) out += card->total_vfs;
  return out;
}

std::string say_vfs(const RailGroup& group, const Way& way) {
  if (group.passed_through()) return "0: VFs are made where the PF is";
  if (way.kind == WayKind::sub_functions) return "0; not known: needs sub-functions";
  if (const uint32_t most = possible_vfs(group); most > 0) return "0; up to " + std::to_string(most);
  return "not known: needs SR-IOV";
}

std::string say_pods(const RailGroup& group, const Way& way) {
  if (has_no_resource(way.kind)) return "any number";
  if (way.devices().empty()) {
    if (way.kind == WayKind::vfs || way.kind == WayKind::sub_functions) return say_vfs(group, way);
    return group.addressed ? "0: the host has an address on each" : "0: every PF has VFs";
  }
  if (way.kind == WayKind::shared) {
    const std::string most = "up to rdmaHcaMax (" + std::to_string(kPodsOfNode) + ")";
    return way.pods_now > 0 ? most : "0; " + most + " when a port of " + names_of_faulty(way) + " is up";
  }
  if (way.kind == WayKind::bundle && way.pods_now > 0 && !way.dark.empty())
    return std::to_string(way.pods_now) + ", with " + std::to_string(group.rails.size() - way.dark.size()) +
           " of " + counted(group.rails.size(), "card") + " until " + names_of_faulty(way) + " works";
  size_t all = 0;
  for (const Pool& pool : way.pools) all += make_units(pool).size();
  std::string out = std::to_string(way.pods_now);
  if (way.pods_now < all) out += "; " + std::to_string(all) + " when " + names_of_faulty(way) + " works";
  return out;
}

Way make_way(const PlanFacts& facts, const RailGroup& group, WayKind kind) {
  Way out;
  out.kind = kind;
  out.config = make_config(facts, group, kind);
  out.resource = resource_of(facts, group, kind);
  if (!out.config.is_null()) out.pools = pools_of(out.config, facts.inventory);
  for (const Pool& pool : out.pools) out.pods_now += count_healthy(make_units(pool));
  for (const PoolDevice* device : out.devices()) {
    if (!is_dark(*device)) continue;
    out.dark.insert(port_of(device->facts));
    if (kind != WayKind::bundle && kind != WayKind::shared) --out.pods_now;
  }
  out.pods = say_pods(group, out);
  out.isolation = isolation_of(facts, kind);
  out.address = address_of(group, kind);
  out.gpu_direct = gpu_direct_of(facts, kind);
  out.takes = steps_of(facts, group, kind);
  return out;
}

// The cards of a pod by a way of which a pod has as many units as its GPUs need.
GpuShare share_by_units(const Way& way, size_t rails, size_t pod_gpus, size_t gpus) {
  GpuShare out{.gpus = pod_gpus};
  if (way.pods_now == 0 || rails == 0) return out;
  out.cards = std::min(std::max<size_t>((pod_gpus * rails + gpus - 1) / gpus, 1), rails);
  out.pods = std::min(gpus / pod_gpus, way.pods_now / out.cards);
  return out;
}

}  // namespace

std::vector<GpuShare> shares_of(const FabricPlan& fabric, const Way& way, size_t gpus) {
  std::vector<GpuShare> out;
  const size_t rails = fabric.group.rails.size() - way.dark.size();
  const auto& all_rails = fabric.group.rails;
  const auto up = static_cast<size_t>(std::count_if(all_rails.begin(), all_rails.end(),
                                                    [](const Rail& rail) { return !is_down(rail.any()); }));
  for (size_t n = 1; n <= gpus; n = n < gpus && n * 2 > gpus ? gpus : n * 2) {
    GpuShare share = share_by_units(way, std::min(rails, way.pods_now), n, gpus);
    if (way.kind == WayKind::bundle && way.pods_now > 0)
      share = {n, rails, std::min(gpus / n, way.pods_now), false};
    if (way.kind == WayKind::shared) share = {n, working_cards(way), way.pods_now > 0 ? gpus / n : 0, true};
    if (way.kind == WayKind::host_network) share = {n, up, gpus / n, true};
    if (way.kind == WayKind::tcp) share = {n, 0, gpus / n, false};
    out.push_back(share);
  }
  return out;
}

std::vector<FabricPlan> plan_fabrics(const PlanFacts& facts, const std::vector<RailGroup>& groups) {
  std::vector<FabricPlan> out;
  for (const RailGroup& group : groups) {
    if (!group.other.empty()) continue;
    FabricPlan& plan = out.emplace_back();
    plan.fabric = group.fabric;
    plan.group = group;
    for (const WayKind kind : kinds_of(group)) plan.ways.push_back(make_way(facts, group, kind));
    recommend(facts, plan);
  }
  return out;
}

}  // namespace vfrail::plugin
