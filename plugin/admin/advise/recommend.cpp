// Which way is recommended. The order of the rules is what matters: what is there and isolates pods, before
// what is there, before what has to be set up.
#include "common/text.h"
#include "plugin/admin/advise/ways.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

// RoCE and iWARP take their addresses from the addresses of an interface; without one of its own a PF alone
// is of no use.
bool has_interfaces(const FabricPlan& plan) { return plan.way(WayKind::whole).address != "no interface"; }

uint32_t vfs_possible(const FabricPlan& plan) {
  uint32_t out = 0;
  for (const DeviceFacts* card : plan.cards) out += card->total_vfs;
  return out;
}

std::string say_gpus(const PlanFacts& facts) { return counted(facts.inventory.gpus.size(), "GPU"); }

std::string say_speed(const PlanFacts& facts, const FabricPlan& plan) {
  std::string best;
  uint32_t most = 0;
  for (const DeviceFacts* card : plan.cards) {
    const auto at = facts.hardware.find(card->id.text());
    if (at == facts.hardware.end() || at->second.speed_mbps.value_or(0) <= most) continue;
    most = *at->second.speed_mbps;
    best = speed_of(facts, *card);
  }
  return best.empty() ? "" : "; a pod that is alone has all of a port's " + best;
}

void choose_way(FabricPlan& plan, WayKind kind, std::string why) {
  plan.recommended = kind;
  plan.why = std::move(why);
}

// What gives each pod a device of its own where several tenants share the node.
void say_later(FabricPlan& plan) {
  const Way& vfs = plan.way(WayKind::vfs);
  if (plan.recommended == WayKind::vfs || plan.passed_through) return;
  plan.later = "VFs when pods of several tenants share the node: each has a device of its own";
  if (vfs.pool.devices.empty() && vfs_possible(plan) == 0)
    plan.later += ". That takes SR-IOV in the firmware first";
}

}  // namespace

void recommend(const PlanFacts& facts, FabricPlan& plan) {
  const Way& whole = plan.way(WayKind::whole);
  const Way& vfs = plan.way(WayKind::vfs);
  const bool exclusive = facts.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive;
  const size_t gpus = facts.inventory.gpus.size();
  if (plan.passed_through && has_interfaces(plan)) {
    choose_way(plan, WayKind::whole,
               counted(whole.pool.devices.size(), "device") +
                   " of this virtual machine: a pod has one alone, with an address of its own" +
                   say_speed(facts, plan));
  } else if (!plan.passed_through && !vfs.pool.devices.empty()) {
    choose_way(plan, WayKind::vfs,
               counted(vfs.pool.devices.size(), "VF") + (vfs.pool.devices.size() == 1 ? " is" : " are") +
                   " there: each pod has a device and an address of its own");
  } else if (plan.fabric == Transport::infiniband && !exclusive) {
    choose_way(plan, WayKind::shared,
               "nothing has to be changed on the node, and InfiniBand needs no interface in the pod" +
                   say_speed(facts, plan));
  } else if (!has_interfaces(plan) && !exclusive) {
    choose_way(plan, WayKind::shared,
               "the RDMA devices have no interface of their own that could go to a pod, and no VFs");
  } else if (vfs_possible(plan) > 0 && (gpus == 0 || whole.pool.devices.size() < gpus)) {
    choose_way(plan, WayKind::vfs,
               "there are fewer PFs (" + std::to_string(whole.pool.devices.size()) +
                   ") than pods may want, and " + std::to_string(vfs_possible(plan)) +
                   " VFs can be enabled without a reboot");
  } else {
    const bool enough = gpus > 0 && whole.pool.devices.size() >= gpus;
    choose_way(plan, WayKind::whole,
               counted(whole.pool.devices.size(), "PF") + (enough ? " for " + say_gpus(facts) : "") +
                   ": a pod has a whole port, with an address of its own, and no VFs have to be set up" +
                   say_speed(facts, plan));
  }
  say_later(plan);
}

}  // namespace vfrail::plugin
