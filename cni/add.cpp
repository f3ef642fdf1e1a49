#include "cni/chained.h"
#include "cni/device_info.h"
#include "cni/ipam.h"
#include "cni/plan.h"
#include "cni/read_state.h"
#include "cni/steps.h"
#include "cni/transaction.h"
#include "cni/verbs.h"

namespace vfrail {

namespace {

// A record in the way of `us`. Alive: refused. Left over by a kill, a reboot or a DEL that never came: its
// attachment is undone first.
Result<> settle_record(const AttachmentName& name, const AttachmentName& us, DeviceLock lock, World& world) {
  auto record = world.store.load(name);
  if (!record && record.error().code == Errc::protocol) {
    world.log.error("a record cannot be read, it is set aside", {{"reason", record.error().text}});
    return world.store.set_aside(name);
  }
  const auto found = TRY(std::move(record), "");
  if (!found) return {};
  if (TRY(from_this_boot(*found, world), "") && TRY(attachment_lives(*found, world), "")) {
    const std::string whose =
        name.ifname + " of container " + name.container_id + " (network " + found->network + ")";
    if (name == us)
      return Error{Errc::exists, 0,
                   found->device_key + " is attached already, as " + whose + "; DEL it first"};
    return Error{Errc::busy, 0,
                 found->device_key + " belongs to " + whose + ", which still has it; DEL that one first"};
  }
  world.log.warning(
      "an attachment was left behind, it is undone first",
      {{"device", found->device_key}, {"container", name.container_id}, {"ifname", name.ifname}});
  const std::string what = "undo the attachment of container " + name.container_id;
  if (lock == DeviceLock::held) {
    // The record stays: the address is still to be released, by its DEL, GC or a sweep.
    return restore_device(*found, found->netns, world);
  }
  TRY(detach(*found, found->netns, world), what);
  return forget(*found, world);
}

// What is known after the device has moved.
struct Attached {
  Record record;
  std::optional<Link> link;
};

// A driver that has been bound again has made everything anew; the record keeps what was before, and learns
// the names of the RDMA devices.
Result<AttachPlan> plan_again(const Request& request, const NetConf& conf, Kernel& pod, World& world,
                              Record& record) {
  Device device = TRY(find_device(world.sys, world.host, conf.device), "");
  device = TRY(wait_for_parts(std::move(device), conf, Chained::no, world), "");
  const State state = TRY(read_state(std::move(device), conf, Chained::no, request, pod, world), "");
  AttachPlan plan = TRY(plan_attach(request, conf, state), "");
  const Record fresh = make_record(request, conf, state, plan);
  record.rdma = fresh.rdma;
  record.rdma_in_pod = fresh.rdma_in_pod;
  TRY(world.store.save(record), "save the names of the RDMA devices");
  return plan;
}

// Waits for the IPoIB interface that the RDMA device's move has made anew.
Result<> follow_ipoib(const Record& record, AttachPlan& plan, World& world) {
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  auto found = world.host.wait_for_link(deadline, [&]() -> Result<bool> {
    for (const std::string& name : read_device(world.sys, *record.device).netdevs) {
      const auto link = TRY(world.host.find_link(name), "");
      if (!link || !link->ipoib()) continue;
      plan.link->name = link->name;
      plan.link->index = link->index;
      return true;
    }
    return false;
  });
  return found ? found : std::move(found.error()).in("wait for the IPoIB interface of " + record.device_key);
}

// An address that the PF has set reaches some netdevs a moment later, by a message of the driver.
Result<Link> wait_for_mac(const AttachPlan& plan, Link link, Kernel& pod, World& world) {
  if (!plan.mac || link.mac == *plan.mac) return link;
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  auto there = pod.wait_for_link(deadline, [&]() -> Result<bool> {
    const auto now = TRY(pod.find_link(link.index), "");
    if (!now) return Error{Errc::not_found, 0, link.name + " is no longer in the pod"};
    link = *now;
    return link.mac == *plan.mac;
  });
  if (there) return link;
  return std::move(there.error())
      .in("wait for the address " + plan.mac->text() + " of " + link.name + ", which has " + link.mac.text());
}

// The kernel's part, in the order that drivers need. The netdev as the pod has it, if there is one.
Result<std::optional<Link>> change_device(const Request& request, const NetConf& conf, AttachPlan plan,
                                          Kernel& pod, World& world, Record& record) {
  // The PF first, so that no packet leaves the pod without its VLAN.
  if (plan.vf) TRY(change_vf(world.host, *plan.vf), "");
  if (plan.vf && plan.vf->rebind) {
    TRY(world.rebind(world.sys, *record.device), "have the driver take the GUID over");
    plan = TRY(plan_again(request, conf, pod, world, record), "");
  }
  if (plan.ipoib() && !record.rdma.empty()) {
    TRY(move_rdma(record, plan, pod, world), "");
    TRY(follow_ipoib(record, plan, world), "");
  }
  std::optional<Link> link;
  if (plan.link) link = TRY(move_link(world.host, pod, plan, record), "");
  if (link) link = TRY(wait_for_mac(plan, std::move(*link), pod, world), "");
  if (!plan.ipoib()) TRY(move_rdma(record, plan, pod, world), "");
  // After the last move, and before the runtime, which learns of the ADD only then, makes the container.
  TRY(correct_cdi_spec(record, plan, world), "");
  return link;
}

// Under the device's lock: reads, decides, writes the record, moves.
Result<Attached> move_device(const Request& request, const NetConf& conf, Chained chained, Kernel& pod,
                             World& world, Transaction& tx) {
  const AttachmentName us{request.container_id, request.ifname};
  // An earlier ADD under this name may have been killed, with this device or with another.
  TRY(settle_record(us, us, DeviceLock::free, world), "");
  // Only a device that is selected by something else than its address must be looked at to know its lock.
  const std::string key =
      conf.device.id ? conf.device.id->text() : TRY(find_device(world.sys, world.host, conf.device), "").key;
  const auto lock = TRY(world.store.lock_device(key, world.lock_timeout), "wait for " + key);
  if (const auto owner = TRY(world.store.owner(key), ""))
    TRY(settle_record(*owner, us, DeviceLock::held, world), "");
  Device device = TRY(find_device(world.sys, world.host, conf.device), "");
  device = TRY(wait_for_parts(std::move(device), conf, chained, world), "");
  const State before = TRY(read_state(std::move(device), conf, chained, request, pod, world), "");
  AttachPlan plan = TRY(plan_attach(request, conf, before), "");

  Attached out;
  out.record = make_record(request, conf, before, plan);
  out.record.netns_id = pod.netns_id();
  out.record.boot_id = TRY(boot_id(world.sys), "");
  TRY(world.store.save(out.record), "save what is going to be changed");
  tx.undo("give back " + out.record.device_key, [&world, record = out.record]() -> Result<> {
    TRY(detach(record, record.netns, world), "");
    return forget(record, world);
  });
  out.link = TRY(change_device(request, conf, std::move(plan), pod, world, out.record), "");
  return out;
}

Result<Assignment> assign_addresses(const Request& request, const NetConf& conf, World& world,
                                    Transaction& tx) {
  if (conf.ipam_type.empty()) return Assignment{};
  tx.undo("release the address", [&world, request, type = conf.ipam_type]() -> Result<> {
    TRY(run_ipam(request, Command::del, type, world.ipam_timeout), "");
    return {};
  });
  const auto lock =
      TRY(world.store.lock_ipam({request.container_id, request.ifname}, world.lock_timeout), "");
  const auto answer = TRY(run_ipam(request, Command::add, conf.ipam_type, world.ipam_timeout, lock.fd()), "");
  const std::string what = "answer of IPAM plugin " + conf.ipam_type;
  if (!answer) return Error{Errc::protocol, 0, what + ": empty"};
  Assignment out = TRY(parse_assignment(*answer), what);
  if (out.ips.empty()) return Error{Errc::protocol, 0, what + ": it has no address"};
  return out;
}

// For network-status only, so what goes wrong here fails no pod.
void correct_device_info(const NetConf& conf, const Record& record, World& world) {
  const auto address = record.device ? record.device->pci() : std::nullopt;
  if (conf.device_info_file.empty() || !address || conf.rdma == RdmaPolicy::off) return;
  DeviceInfo info;
  info.address = *address;
  info.pf_address =
      world.sys.link_name("sys/bus/pci/devices/" + record.device->text() + "/physfn").value_or("");
  for (size_t i = 0; i < record.rdma.size(); ++i) info.rdma.push_back(record.rdma_name_in_pod(i));
  if (record.rdma.empty()) info.rdma = read_device(world.sys, *record.device).rdma;  // shared mode: it stayed
  const auto corrected = correct_device_info_file(conf.device_info_file, info);
  if (!corrected)
    world.log.warning("network-status will not tell the RDMA device", {{"reason", corrected.error().text}});
}

Result<AddResult> attach(const Request& request, const NetConf& conf, Chained chained, Kernel& pod,
                         World& world, Transaction& tx) {
  const Attached attached = TRY(move_device(request, conf, chained, pod, world, tx), "");
  // The device's lock is free again: an IPAM plugin can take minutes, and the record keeps others off.
  AddResult out;
  out.assignment = TRY(assign_addresses(request, conf, world, tx), "");
  if (attached.link) {
    const Record& record = attached.record;
    TRY(configure_pod(pod, *attached.link, out.assignment, conf.pod, record.routing_table), "");
    announce(pod, *attached.link, out.assignment, world.log);
  }
  out.assignment.dns = merged(conf.dns, out.assignment.dns);
  out.ifname = request.ifname;
  out.sandbox = request.netns;
  out.cni_version = conf.cni_version;
  out.prev_result = conf.prev_result;
  if (attached.link) {
    out.mac = attached.link->mac.text();
    out.mtu = attached.link->mtu;
  } else if (const auto mac = TRY(wanted_mac(request, conf), "")) {
    out.mac = mac->text();  // for user space, which finds it set
  }
  const auto& device = attached.record.device;
  if (device && device->pci()) out.pci_id = device->text();
  world.log.info("attached", {{"device", attached.record.device_key},
                              {"was", attached.record.link ? attached.record.link->name : "-"},
                              {"rdma", attached.record.rdma.empty() ? "-" : attached.record.rdma.front()}});
  correct_device_info(conf, attached.record, world);
  return chained == Chained::rdma ? pass_on(conf) : out;
}

}  // namespace

Result<AddResult> add(const Request& request, World& world) {
  NetConf conf = TRY(parse_net_conf(request.config), "network configuration");
  const auto pod = TRY(world.open_netns(request.netns), "");
  if (!pod) return Error{Errc::wrong_netns, 0, "CNI_NETNS " + request.netns + " is no network namespace"};
  const Chained chained = TRY(look_at_chain(request, conf, *pod, world), "");
  if (chained == Chained::complete) {
    world.log.info("an entry of vfrail earlier in the chain has attached everything");
    AddResult out = pass_on(conf);
    TRY(world.tell(out), "");
    return out;
  }
  Transaction tx;
  auto result = attach(request, conf, chained, *pod, world, tx);
  const auto told = result ? world.tell(*result) : Result<>();
  if (result && told) {
    tx.commit();
    return result;
  }
  Error error = result ? told.error() : std::move(result).error();
  return std::move(error).and_also(tx.roll_back());
}

}  // namespace vfrail
