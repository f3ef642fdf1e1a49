#include "cni/verbs/child.h"

#include "cni/node/boot.h"
#include "cni/node/device.h"
#include "cni/steps/rule_steps.h"
#include "cni/verbs/in_pod.h"
#include "cni/verbs/read_state.h"
#include "common/errors/error_id.h"

#include <cerrno>

namespace vfrail::cni {

namespace {

Result<Device> find_master(const DeviceSelector& selector, World& world) {
  if (selector.empty())
    return Error{
        Errc::invalid, 0,
        "mode: on which interface of the host is not said; set \"master\" to its name or PCI address "
        "(of a shared resource, Multus passes a number, which stands for all its devices)",
        ErrorId::master_unusable};
  auto out = find_device(world.sys, world.host, selector);
  if (out || out.error().code != Errc::not_found || selector.name.empty()) return out;
  return Error{Errc::not_found, 0,
               "master: the host has no interface " + selector.name + "; compare it with ip link",
               ErrorId::master_unusable};
}

// Each query of the kernel only if the configuration needs its answer.
Result<State> read_child_state(const Request& request, const NetConf& conf, Kernel& pod, World& world) {
  State state;
  state.device = TRY(find_master(conf.device, world));
  state.same_netns = pod.netns_id() == world.host.netns_id();
  if (!state.device.netdevs.empty())
    state.link = TRY(world.host.find_link(state.device.netdevs.front().name), "master");
  if (!state.device.rdma.empty() && conf.rdma.policy != RdmaPolicy::off)
    state.rdma_mode = TRY(world.host.rdma_netns_mode());
  state.occupant = TRY(pod.find_link(request.ifname), "in the pod");
  if (!conf.pod.sysctls.empty())
    state.sysctl_allow_list = TRY(world.sys.text(kSysctlAllowList.substr(1)), "read the sysctls' allow-list");
  if (conf.pod.source_routing)
    state.tables_in_use = TRY(tables_in_use(pod), "find a free routing table in the pod");
  return state;
}

}  // namespace

Result<PlannedChild> prepare_child(const Request& request, const NetConf& conf, Kernel& pod, World& world) {
  const State state = TRY(read_child_state(request, conf, pod, world));
  PlannedChild out{.plan = TRY(plan_child(request, conf, state)), .record = {}, .in_pod = {}};
  out.record = make_child_record(request, conf.entry.network, state, out.plan);
  out.record.netns_id = pod.netns_id();
  out.record.host_netns = world.host.netns_id();
  out.record.boot_id = TRY(this_boot(world.sys));
  if (out.plan.uses_rdma) out.in_pod = TRY(read_rdma_before_move(conf.rdma.policy, state, world));
  warn_of_keys(out.plan.in_vain, world);
  if (!out.plan.warning.empty())
    world.log.warning("the pod will not see the RDMA device of its interface",
                      {{"reason", out.plan.warning}, {"id", id_text(ErrorId::rdma_exclusive_mode)}});
  return out;
}

Result<Link> create_child(const ChildPlan& plan, Kernel& pod, World& world) {
  NewLink wanted = plan.link;
  wanted.netns_fd = pod.netns_fd();
  auto added = world.host.add_link(wanted);
  if (!added) {
    const int code = added.error().sys;
    Error error = std::move(added).error();
    error.specific = code == EEXIST ? ErrorId::interface_name_taken : ErrorId::master_unusable;
    if (code == EOPNOTSUPP) error.text += "; the kernel has no module for it: modprobe " + wanted.kind;
    if (code == EBUSY) error.text += "; something else has taken the master over (a bond, a bridge, ipvlan)";
    return error;
  }
  auto link = TRY(pod.find_link(wanted.name), "in the pod");
  if (!link)
    return Error{Errc::protocol, 0,
                 "the kernel created " + wanted.name +
                     " in the pod, which does not have it: a program in it has renamed or moved it; delete "
                     "the pod"};
  return std::move(*link);
}

Result<std::optional<Link>> find_child(const Record& record, Kernel& pod) {
  const auto is_it = [&](const std::optional<Link>& link) {
    return link && link->kind == record.child->kind && link->lower == record.child->master_index;
  };
  if (record.index_in_pod != 0) {
    auto link = TRY(pod.find_link(record.index_in_pod), "in the pod");
    if (is_it(link)) return link;
  }
  auto link = TRY(pod.find_link(record.attachment.ifname), "in the pod");
  return is_it(link) ? std::move(link) : std::nullopt;
}

Result<> remove_child(const Record& record, Kernel* pod) {
  if (pod == nullptr) return {};
  const auto link = TRY(find_child(record, *pod));
  if (link) TRY(pod->remove_links({link->index}), "remove " + link->name + " from the pod");
  return remove_rules(record, *pod);
}

}  // namespace vfrail::cni
