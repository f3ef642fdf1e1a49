// Which way is recommended. The order of the rules is what matters: what is there and isolates pods, before
// what is there, before what has to be set up; and for pods with all GPUs of the node, all of its rails.
#include "common/text.h"
#include "plugin/admin/plan/ways.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

uint32_t vfs_possible(const FabricPlan& plan) {
  uint32_t out = 0;
  for (const DeviceFacts* card : plan.group.cards()) out += card->total_vfs;
  return out;
}

std::string say_gpus(const PlanFacts& facts) { return counted(facts.inventory.gpus.size(), "GPU"); }

std::string say_speed(const FabricPlan& plan) {
  return plan.speed().empty() ? "" : "; a pod that is alone has all of a port's " + plan.speed();
}

// "all 8 rails, 8 x 400 Gb/s"
std::string say_rails(const FabricPlan& plan) {
  const std::string count = std::to_string(plan.group.rails.size());
  return "all " + count + " rails" + (plan.speed().empty() ? "" : ", " + count + " x " + plan.speed());
}

void choose_way(FabricPlan& plan, WayKind kind, std::string why) {
  plan.recommended = kind;
  plan.why = std::move(why);
}

void choose_bundle(const PlanFacts& facts, FabricPlan& plan) {
  const size_t bundles = plan.way(WayKind::bundle).pods_now;
  std::string why = counted(plan.group.rails.size(), "rail") + " for " + say_gpus(facts) +
                    ": one unit and one network give a pod " + say_rails(plan) +
                    ", each with an address of "
                    "its own range";
  if (plan.group.has_vfs())
    why += "; the VFs make " + counted(bundles, "such unit");
  else
    why += ", and no VFs have to be set up";
  choose_way(plan, WayKind::bundle, std::move(why));
}

// A way that suits pods of another size or several tenants.
void say_later(const PlanFacts& facts, FabricPlan& plan) {
  if (plan.passed_through()) return;
  if (plan.recommended == WayKind::bundle) {
    if (plan.group.has_vfs()) return;
    plan.later = "a unit has all rails, so there is one such pod at a time. For pods of fewer than " +
                 say_gpus(facts) + " beside each other: a resource per rail, or whole PFs";
    if (vfs_possible(plan) > 0) plan.later += "; or VFs on each card, of which bundles are made as well";
    return;
  }
  const Way& vfs = plan.way(WayKind::vfs);
  if (plan.recommended == WayKind::vfs) return;
  plan.later = "VFs when pods of several tenants share the node: each has a device of its own";
  if (vfs.devices().empty() && vfs_possible(plan) == 0)
    plan.later += ". That takes SR-IOV in the firmware first";
}

void choose_shared(FabricPlan& plan) {
  const auto& rails = plan.group.rails;
  std::string why = "nothing has to be changed on the node, and InfiniBand needs no interface in the pod";
  if (rails.size() > 1) {
    const auto down =
        std::count_if(rails.begin(), rails.end(), [](const Rail& rail) { return is_down(rail.any()); });
    why += "; a unit has each of the " + std::to_string(rails.size()) + " cards";
    if (down > 0) why += ", of which " + std::to_string(down) + (down == 1 ? " is down" : " are down");
  }
  choose_way(plan, WayKind::shared, why + say_speed(plan));
}

void choose_own_device(const PlanFacts& facts, FabricPlan& plan) {
  const size_t gpus = facts.inventory.gpus.size();
  const size_t pfs = plan.group.cards().size();
  if (vfs_possible(plan) > 0 && (gpus == 0 || pfs < gpus)) {
    choose_way(plan, WayKind::vfs,
               "there are fewer PFs (" + std::to_string(pfs) + ") than pods may want, and " +
                   std::to_string(vfs_possible(plan)) + " VFs can be enabled without a reboot");
    return;
  }
  choose_way(plan, WayKind::whole,
             counted(pfs, "PF") + (gpus > 0 && pfs >= gpus ? " for " + say_gpus(facts) : "") +
                 ": a pod has a whole port, with an address of its own, and no VFs have to be set up" +
                 say_speed(plan));
}

void choose(const PlanFacts& facts, FabricPlan& plan) {
  const Way& vfs = plan.way(WayKind::vfs);
  const bool exclusive = facts.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive;
  // RoCE and iWARP take their addresses from an interface; without one of its own a PF alone is of no use.
  const Way* whole = plan.find(WayKind::whole);
  const bool has_interfaces = whole == nullptr || whole->address != "no interface";
  const size_t gpus = facts.inventory.gpus.size();
  const Way* bundle = plan.find(WayKind::bundle);
  const bool rails = bundle != nullptr && bundle->pods_now > 0 && gpus > 1 && plan.group.rails.size() >= gpus;
  const bool there = !vfs.devices().empty() || (plan.passed_through() && has_interfaces);
  if (rails && there) {
    choose_bundle(facts, plan);
  } else if (plan.passed_through() && has_interfaces && !plan.group.addressed) {
    choose_way(plan, WayKind::whole,
               counted(plan.way(WayKind::whole).devices().size(), "device") +
                   " of this virtual machine: a pod has one alone, with an address of its own" +
                   say_speed(plan));
  } else if (!plan.passed_through() && !vfs.devices().empty()) {
    choose_way(plan, WayKind::vfs,
               counted(vfs.devices().size(), "VF") + (vfs.devices().size() == 1 ? " is" : " are") +
                   " there: each pod has a device and an address of its own");
  } else if (plan.fabric == Transport::infiniband && !exclusive) {
    choose_shared(plan);
  } else if (!has_interfaces && !exclusive) {
    choose_way(plan, WayKind::shared,
               "the RDMA devices have no interface of their own that could go to a pod, and no VFs");
  } else if (plan.group.addressed && !exclusive) {
    choose_way(
        plan, WayKind::shared,
        "the host has an address on each card, so none is given away; a pod in the host's network uses "
        "these addresses" +
            say_speed(plan));
  } else if (rails) {
    choose_bundle(facts, plan);
  } else {
    choose_own_device(facts, plan);
  }
}

}  // namespace

void recommend(const PlanFacts& facts, FabricPlan& plan) {
  choose(facts, plan);
  say_later(facts, plan);
}

}  // namespace vfrail::plugin
