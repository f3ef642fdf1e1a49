#include "cni/ipam.h"
#include "cni/plan.h"
#include "cni/steps.h"
#include "cni/transaction.h"
#include "cni/verbs.h"
#include "common/promise.h"

#include <algorithm>
#include <thread>

namespace vfrail {

namespace {

// A driver takes some 100 ms to make its netdev, a namespace that ends up to seconds to send a device home.
// What still is missing afterwards plan_attach() tells.
Result<Device> wait_for_parts(Device device, const NetConf& conf, World& world) {
  const auto complete = [&] {
    const std::string missing = device.missing_part();
    return missing.empty() || (missing == "RDMA device" && conf.rdma == RdmaPolicy::off);
  };
  const auto look_again = [&]() -> Result<bool> {
    device = TRY(find_device(world.sys, world.host, conf.device), "");
    return complete();
  };
  if (complete() || !device.id) return device;
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  if (device.netdevs.empty()) {
    const auto appeared = world.host.wait_for_link(
        deadline, [&]() -> Result<bool> { return TRY(look_again(), "") || !device.netdevs.empty(); });
    if (!appeared && appeared.error().code != Errc::timeout) return appeared.error();
  }
  // The kernel announces the return of an RDMA device on no socket, so it is looked for.
  while (!complete() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    TRY(look_again(), "");
  }
  return device;
}

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
  if (from_this_boot(*found, world) && TRY(attachment_lives(*found, world), "")) {
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
    TRY(restore_device(*found, found->netns, world), what);
  } else {
    TRY(detach(*found, found->netns, world), what);
  }
  // The address of another one is still to be released, by its DEL, GC or a sweep.
  return name == us ? world.store.remove(*found) : Result<>();
}

// The RDMA devices that sysfs shows below the device. A list of the kernel can miss one while other pods'
// devices move (Kernel::rdma_devices()), which takes some ms each.
Result<std::vector<RdmaDevice>> read_rdma_devices(const Device& device, World& world) {
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  for (;;) {
    std::vector<RdmaDevice> out;
    for (RdmaDevice& rdma : TRY(world.host.rdma_devices(), "")) {
      const bool ours = std::find(device.rdma.begin(), device.rdma.end(), rdma.name) != device.rdma.end();
      if (ours) out.push_back(std::move(rdma));
    }
    if (out.size() == device.rdma.size() || std::chrono::steady_clock::now() >= deadline) return out;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<> read_vf(const Device& device, World& world, State& state) {
  auto place = find_vf_place(world.sys, device);
  if (!place) {
    state.no_vf = place.error().text;
    return {};
  }
  const auto settings = TRY(world.host.vf_settings(place->pf_link, place->index), "look at " + place->pf);
  if (!settings) {
    state.no_vf = place->pf + " does not tell of its VF " + std::to_string(place->index);
    return {};
  }
  state.vf = std::move(*place);
  state.vf_settings = *settings;
  return {};
}

Result<State> read_state(Device device, const NetConf& conf, const Request& request, Kernel& pod,
                         World& world) {
  State state;
  state.same_netns = pod.netns_id() == world.host.netns_id();
  if (!device.netdevs.empty()) {
    state.link = TRY(world.host.find_link(device.netdevs.front()), "look at " + device.netdevs.front());
  }
  if (!device.rdma.empty() && conf.rdma != RdmaPolicy::off) {
    state.rdma_mode = TRY(world.host.rdma_netns_mode(), "");
    if (state.rdma_mode == RdmaNetnsMode::exclusive) {
      state.rdma = TRY(read_rdma_devices(device, world), "");
    }
  }
  if (!TRY(wanted_vf_settings(request, conf), "").empty()) TRY(read_vf(device, world, state), "");
  if (device.id) state.promised_nodes = TRY(read_promise(world.run_folder, *device.id), "");
  state.occupant = TRY(pod.find_link(request.ifname), "look for " + request.ifname + " in the pod");
  for (const std::string& name : state.link ? state.link->altnames : std::vector<std::string>()) {
    if (!state.occupant) state.occupant = TRY(pod.find_link(name), "look for " + name + " in the pod");
  }
  state.device = std::move(device);
  return state;
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
  device = TRY(wait_for_parts(std::move(device), conf, world), "");
  const State state = TRY(read_state(std::move(device), conf, request, pod, world), "");
  AttachPlan plan = TRY(plan_attach(request, conf, state), "");
  record.rdma = make_record(request, conf, state, plan).rdma;
  TRY(world.store.save(record), "save the names of the RDMA devices");
  return plan;
}

// Waits for the IPoIB interface that the RDMA device's move has made anew.
Result<> follow_ipoib(const Record& record, AttachPlan& plan, World& world) {
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  auto found = world.host.wait_for_link(deadline, [&]() -> Result<bool> {
    for (const std::string& name : read_device(world.sys, *record.device).netdevs) {
      const auto link = TRY(world.host.find_link(name), "");
      if (!link || link->mac.bytes.size() != 20) continue;
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
  return link;
}

// Under the device's lock: reads, decides, writes the record, moves.
Result<Attached> move_device(const Request& request, const NetConf& conf, Kernel& pod, World& world,
                             Transaction& tx) {
  const AttachmentName us{request.container_id, request.ifname};
  // An earlier ADD under this name may have been killed, with this device or with another.
  TRY(settle_record(us, us, DeviceLock::free, world), "");
  Device device = TRY(find_device(world.sys, world.host, conf.device), "");
  const auto lock = TRY(world.store.lock_device(device.key, world.lock_timeout), "wait for " + device.key);
  if (const auto owner = TRY(world.store.owner(device.key), ""))
    TRY(settle_record(*owner, us, DeviceLock::held, world), "");
  device = TRY(find_device(world.sys, world.host, conf.device), "");
  device = TRY(wait_for_parts(std::move(device), conf, world), "");
  const State before = TRY(read_state(std::move(device), conf, request, pod, world), "");
  AttachPlan plan = TRY(plan_attach(request, conf, before), "");

  Attached out;
  out.record = make_record(request, conf, before, plan);
  out.record.netns_id = pod.netns_id();
  out.record.boot_id = boot_id(world.sys);
  TRY(world.store.save(out.record), "save what is going to be changed");
  tx.undo("give back " + out.record.device_key, [&world, record = out.record]() -> Result<> {
    TRY(detach(record, record.netns, world), "");
    return world.store.remove(record);
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
  const auto answer = TRY(run_ipam(request, Command::add, conf.ipam_type, world.ipam_timeout), "");
  const std::string what = "answer of IPAM plugin " + conf.ipam_type;
  if (!answer) return Error{Errc::protocol, 0, what + ": empty"};
  Assignment out = TRY(parse_assignment(*answer), what);
  if (out.ips.empty()) return Error{Errc::protocol, 0, what + ": it has no address"};
  return out;
}

Result<AddResult> attach(const Request& request, const NetConf& conf, Kernel& pod, World& world,
                         Transaction& tx) {
  const Attached attached = TRY(move_device(request, conf, pod, world, tx), "");
  // The device's lock is free again: an IPAM plugin can take minutes, and the record keeps others off.
  AddResult out;
  out.assignment = TRY(assign_addresses(request, conf, world, tx), "");
  if (attached.link) TRY(configure_addresses(pod, *attached.link, out.assignment), "");
  if (!conf.dns.empty()) out.assignment.dns = conf.dns;
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
  return out;
}

}  // namespace

Result<AddResult> add(const Request& request, World& world) {
  const NetConf conf = TRY(parse_net_conf(request.config), "network configuration");
  const auto pod = TRY(world.open_netns(request.netns), "");
  if (!pod) return Error{Errc::wrong_netns, 0, "CNI_NETNS " + request.netns + " is no network namespace"};
  Transaction tx;
  auto result = attach(request, conf, *pod, world, tx);
  if (result) {
    tx.commit();
    return result;
  }
  return std::move(std::move(result).error()).and_also(tx.roll_back());
}

}  // namespace vfrail
