#include "cni/verbs/child.h"

#include "cni/node/boot.h"
#include "cni/node/device.h"
#include "cni/node/find_link.h"
#include "cni/steps/rule_steps.h"
#include "cni/steps/wait_step.h"
#include "cni/verbs/in_pod.h"
#include "cni/verbs/read_state.h"
#include "common/errors/error_id.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

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

namespace {

bool is_ipoib(const Record& record) { return record.child->kind == name_of(ChildKind::ipoib); }

// The name under which an IPoIB interface is created: of no other attachment, so that it is known by it
// wherever it is until its address is recorded (FNV-1a of the attachment's key, 48 bits).
IfName first_name(const Record& record) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : record.device_key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 16> out{};
  std::snprintf(out.data(), out.size(), "ib%012" PRIx64, hash & 0xffff'ffff'ffff);
  return *IfName::parse(out.data());
}

Error not_created(Error error, const std::string& kind) {
  const int code = error.sys;
  error.specific = code == EEXIST ? ErrorId::interface_name_taken : ErrorId::master_unusable;
  if (code == EOPNOTSUPP) error.text += "; the kernel has no module for it: modprobe " + kind;
  if (code == EBUSY) error.text += "; something else has taken the master over (a bond, a bridge, ipvlan)";
  return error;
}

Result<Link> add_link_in_pod(NewLink wanted, Kernel& pod, World& world) {
  wanted.netns_fd = pod.netns_fd();
  if (auto added = world.host.add_link(wanted); !added)
    return not_created(std::move(added).error(), wanted.kind);
  auto link = TRY(pod.find_link(wanted.name), "in the pod");
  if (link) return std::move(*link);
  return Error{
      Errc::protocol, 0,
      "the kernel created " + wanted.name +
          " in the pod, which does not have it: a program in it has renamed or moved it; delete the pod"};
}

}  // namespace

Result<Link> create_child(const ChildPlan& plan, Kernel& pod, World& world, Record& record) {
  if (!is_ipoib(record)) return add_link_in_pod(plan.link, pod, world);
  NewLink wanted = plan.link;
  wanted.name = first_name(record);
  wanted.up = false;
  const Link link = TRY(add_link_in_pod(wanted, pod, world));
  // By its address it is found in the host, if the pod's namespace ends before DEL.
  record.pod_mac = link.mac;
  TRY(with_id(ErrorId::state_folder, world.store.save(record)), "save what has been created");
  if (auto named = pod.change_link(link.index, {.name = plan.link.name, .up = true}); !named)
    return not_created(std::move(named).error(), wanted.kind);
  auto now = TRY(pod.find_link(link.index), "in the pod");
  if (now) return std::move(*now);
  return Error{Errc::not_found, 0, "a program in the pod has removed " + plan.link.name + "; delete the pod"};
}

namespace {

// Bytes 1 to 3 of an IPoIB address are the number of the interface's queue pair (RFC 4391, 9.1.1), which it
// keeps for as long as it exists, whatever its name, its index and its namespace.
bool has_its_queue_pair(const Record& record, const Link& link) {
  MacAddress mac = record.pod_mac;
  if (!mac.ipoib() && record.in_pod) mac = record.in_pod->mac;  // the record is an older version's
  if (!mac.ipoib()) return link.name == first_name(record);
  const auto& bytes = mac.bytes;
  return link.mac.ipoib() && std::equal(bytes.begin() + 1, bytes.begin() + 4, link.mac.bytes.begin() + 1);
}

// The kernel deletes what stands on another interface with its namespace; IPoIB's it moves to the host a
// moment later (netns_refund of ipoib_link_ops; seen on Linux 6.12 and 7.3). There it is of no use, and
// nobody else deletes it. A kernel that deletes it costs the wait.
Result<> remove_returned_child(const Record& record, World& world) {
  std::optional<Link> link;
  const auto is_there = [&]() -> Result<bool> {
    for (Link& one : TRY(world.host.links(), "find " + record.attachment.ifname + " in the host")) {
      if (one.kind != record.child->kind || one.lower != record.child->master_index) continue;
      if (has_its_queue_pair(record, one)) link = std::move(one);
    }
    return link.has_value();
  };
  const auto at_most = std::min(kUsualReturn, world.return_timeout);
  if (auto waited = world.host.wait_for_link(std::chrono::steady_clock::now() + at_most, is_there);
      !waited && waited.error().code != Errc::timeout)
    return waited;
  if (!link) return {};
  TRY(world.host.remove_links({link->index}), "remove " + link->name + " from the host");
  world.log.info("removed the pod's IPoIB interface, which the end of its namespace had moved to the host",
                 {{"name", link->name}, {"master", record.child->master}});
  return {};
}

}  // namespace

Result<std::optional<Link>> find_child(const Record& record, Kernel& pod) {
  const ChildLink& child = *record.child;
  const auto is_it = [&](const std::optional<Link>& link) {
    if (!link || link->kind != child.kind) return false;
    return is_ipoib(record) ? is_ipoib_child(*link, child.master_index) : link->lower == child.master_index;
  };
  if (record.index_in_pod != 0) {
    auto link = TRY(pod.find_link(record.index_in_pod), "in the pod");
    if (is_it(link)) return link;
  }
  std::vector<IfName> names = {record.attachment.ifname};
  if (is_ipoib(record)) names.push_back(first_name(record));
  for (const IfName& name : names) {
    auto link = TRY(pod.find_link(name), "in the pod");
    if (is_it(link)) return link;
  }
  return std::optional<Link>();
}

Result<> remove_child(const Record& record, Kernel* pod, World& world) {
  if (pod == nullptr) return is_ipoib(record) ? remove_returned_child(record, world) : Result<>();
  const auto link = TRY(find_child(record, *pod));
  if (link) TRY(pod->remove_links({link->index}), "remove " + link->name + " from the pod");
  return remove_rules(record, *pod);
}

}  // namespace vfrail::cni
