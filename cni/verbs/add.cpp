#include "cni/baseline/baseline.h"
#include "cni/ipam/ipam.h"
#include "cni/node/boot.h"
#include "cni/node/host_use.h"
#include "cni/node/namespaces.h"
#include "cni/plan/plan.h"
#include "cni/steps/address_steps.h"
#include "cni/steps/announce_step.h"
#include "cni/steps/cdi_step.h"
#include "cni/steps/link_steps.h"
#include "cni/steps/name_step.h"
#include "cni/steps/rdma_steps.h"
#include "cni/steps/rebind_step.h"
#include "cni/steps/stacked.h"
#include "cni/steps/transaction.h"
#include "cni/steps/tuning_step.h"
#include "cni/steps/vf_steps.h"
#include "cni/verbs/attachment.h"
#include "cni/verbs/chained.h"
#include "cni/verbs/child.h"
#include "cni/verbs/claimed.h"
#include "cni/verbs/in_pod.h"
#include "cni/verbs/orphan.h"
#include "cni/verbs/read_state.h"
#include "cni/verbs/release.h"
#include "cni/verbs/verbs.h"
#include "common/errors/error_id.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// What an ADD has done so far.
struct Attached {
  Record record;
  std::optional<Link> link;
  InPod in_pod;
  std::optional<MacAddress> reported_mac;  // AttachPlan's
  uint32_t reported_mtu = 0;
  bool address_asked = false;    // the IPAM plugin has been run, or is about to be
  bool address_refused = false;  // it has answered with an error
};

// An error in CNI's form, with a code: neither silence nor a kill, after which it may have assigned one.
bool is_answer(const Error& error) { return error.code == Errc::peer && error.sys > 0; }

// A record that blocks `us`. Alive: refused. Otherwise it was orphaned by a kill, a reboot or a missing DEL,
// and its device is restored first. No value: there is none.
Result<std::optional<Record>> orphaned_record(const AttachmentName& name, const AttachmentName& us,
                                              World& world) {
  auto record = world.store.load(name);
  if (!record && record.error().code == Errc::protocol) {
    world.log.error("a record cannot be read, it is quarantined",
                    {{"reason", record.error().text}, {"id", record.error().id_text()}});
    TRY(quarantine(name, world));
    return std::optional<Record>();
  }
  auto found = TRY(std::move(record));
  if (!found) return found;
  // A device that is nowhere is in nobody's way: what else is wrong with it, its own ADD says.
  const Hold hold = TRY(find_hold(*found, world)).hold;
  if (hold == Hold::attached || hold == Hold::elsewhere) {
    const std::string whose =
        name.ifname + " of container " + name.container_id + " (network " + found->network + ")";
    const bool by_claims = name.container_id == us.container_id && is_network_of_claims(found->network);
    if (name == us || by_claims)
      return Error{
          Errc::exists, 0,
          found->device_key + " is attached already, as " + whose +
              (by_claims ? "; the node's primary network attaches the devices of claims, so take the "
                           "network for them out of the pod's annotation, or that entry out of "
                           "/etc/cni/net.d"
                         : "; delete that pod first"),
          ErrorId::attached_already};
    return Error{
        Errc::busy, 0,
        found->device_key + " is attached to " + whose + ", which still exists; delete that pod first",
        ErrorId::device_in_use};
  }
  world.log.warning("an orphaned attachment has the device, it is released first",
                    {{"device", found->device_key},
                     {"container", name.container_id},
                     {"ifname", name.ifname},
                     {"id", id_text(ErrorId::orphaned_attachment)}});
  return found;
}

std::string undoing(const AttachmentName& name) {
  return "undo the attachment of container " + name.container_id;
}

// An earlier ADD under our name may have been killed, with this device or with another.
Result<> release_own_orphan(const AttachmentName& us, World& world) {
  const auto orphan = TRY(orphaned_record(us, us, world));
  if (!orphan) return {};
  // With its address, which only this record still knows.
  TRY(release(*orphan, AllocateAnswer::kept, world), undoing(us));
  return {};
}

// The attachment that has the device, by the records. Under the device's lock.
Result<> restore_orphaned_device(const std::string& device_key, const AttachmentName& us, World& world) {
  const auto owner = TRY(world.store.find_owner(device_key));
  if (!owner) return {};
  const auto orphan = TRY(orphaned_record(*owner, us, world));
  // The record stays: its DEL, GC or a sweep still has to release the address.
  return orphan ? restore_device(*orphan, orphan->netns, world) : Result<>();
}

// Whether the selector names the record's device, by its name or address in the host.
bool is_selected(const Record& record, const DeviceSelector& selector) {
  if (!record.link) return false;
  const auto& altnames = record.link->altnames;
  if (!selector.name.empty())
    return record.link->name == selector.name ||
           std::find(altnames.begin(), altnames.end(), selector.name) != altnames.end();
  if (selector.mac) return record.link->mac == *selector.mac;
  return record.device && selector.kernel_path.ends_with("/" + record.device->text());
}

// The device that the configuration selects. If the host has no such device it can be in a pod, then the
// error names its owner, or the kernel has not yet returned it from an ended namespace.
Result<Device> find_free_device(const DeviceSelector& selector, const AttachmentName& us, World& world) {
  auto device = find_device(world.sys, world.host, selector);
  if (device || device.error().code != Errc::not_found || selector.id) return device;
  for (const AttachmentName& name : TRY(world.store.list())) {
    const auto record = world.store.load(name);
    if (!record || !*record || !is_selected(**record, selector)) continue;
    const std::string& key = (*record)->device_key;
    const auto lock = TRY(world.store.lock_device(key, world.lock_timeout), "wait for " + key);
    // Under the lock, because another ADD can have attached the device since, also under this name.
    if (TRY(world.store.owner(key)) != name) continue;
    TRY(restore_orphaned_device(key, us, world), undoing(name));
    TRY(world.store.remove_owner(**record));
    return find_device(world.sys, world.host, selector);
  }
  return device;
}

// The selected device with all its parts. Under the lock of `key`: a name or an address can have gone to
// another device while the lock was waited for.
Result<State> find_locked_device(const DeviceSelector& selector, RdmaPolicy rdma, Chained chained,
                                 const std::string& key, World& world) {
  Device device = TRY(find_device(world.sys, world.host, selector));
  State out = TRY(wait_for_parts(std::move(device), selector, rdma, chained, world));
  if (out.device.key() == key) return out;
  return Error{Errc::busy, 0,
               "the configuration has named " + key + ", and names " + out.device.key() +
                   " by now: the host's interfaces are being renamed; try again"};
}

// Binding the driver again has created everything again; the record keeps the original values and gets the
// new names of the RDMA devices.
Result<AttachPlan> plan_again(const Request& request, const NetConf& conf, Kernel& pod, World& world,
                              Record& record) {
  State begun = TRY(find_locked_device(conf.device, conf.rdma.policy, Chained::no, record.device_key, world));
  const State state = TRY(read_state(std::move(begun), conf, request, pod, world));
  AttachPlan plan = TRY(plan_attach(request, conf, state));
  const Record fresh = make_record(request, conf.entry.network, state, plan);
  Record now = record;
  now.rdma = fresh.rdma;
  TRY(world.store.save(now), "save the names of the RDMA devices");
  record = std::move(now);
  return plan;
}

// The IPoIB interface that the RDMA device's move has created again becomes the plan's. Returns the namespace
// that has it.
Result<Kernel*> follow_ipoib(const Record& record, const LinkConf& wanted, AttachPlan& plan, Kernel& pod,
                             World& world) {
  NewIpoib now = TRY(wait_for_new_ipoib(record, *plan.link, pod, world));
  // Tuning goes by the host's sysfs.
  if (now.in_pod && !plan.tuning.empty()) now = TRY(bring_ipoib_to_host(record, now, *plan.link, pod, world));
  plan.link->name = now.link.name;
  plan.link->index = now.link.index;
  const auto& has = now.link.altnames;
  std::erase_if(plan.own_altnames, [&](const std::string& name) {
    return std::find(has.begin(), has.end(), name) == has.end();
  });
  plan.mtu = wanted.mtu && *wanted.mtu != now.link.mtu ? wanted.mtu : std::nullopt;
  return now.in_pod ? &pod : &world.host;
}

// The kernel's part, in the order that drivers need. The netdev as the pod has it, if there is one.
Result<std::optional<Link>> change_device(const Request& request, const NetConf& conf, AttachPlan plan,
                                          Kernel& pod, World& world, Record& record) {
  // The PF first, so that no packet leaves the pod without its VLAN.
  if (plan.vf) TRY(change_vf(world.host, *plan.vf));
  if (plan.vf && plan.vf->rebind) {
    const std::vector<std::string> allocated = plan.nodes;
    TRY(rebind_in_turn(record, world), "have the driver take the GUID over");
    plan = TRY(plan_again(request, conf, pod, world, record));
    plan.nodes = allocated;  // not those that the rebind has made
    if (record.rdma.empty()) TRY(compare_nodes(record, allocated, world));
  }
  Kernel* from = &world.host;
  if (plan.ipoib() && !record.rdma.empty()) {
    TRY(move_rdma(record, plan, pod, world));
    from = TRY(follow_ipoib(record, conf.link, plan, pod, world));
  }
  if (plan.link) TRY(tune_device(*plan.link, plan.tuning, world));
  std::optional<Link> link;
  if (plan.link) link = TRY(move_link(*from, pod, plan, record));
  if (link && link->index != plan.link->index) {
    // Another interface of the pod already had the index. Otherwise it is saved with what the pod has got.
    Record now = record;
    now.index_in_pod = link->index;
    TRY(world.store.save(now), "save the interface's index in the pod");
    record = std::move(now);
  }
  if (link) TRY(steer_irqs(plan.tuning.irqs, record, world));
  if (link && link->xdp_modes != 0) {
    world.log.warning("detached the XDP program that the host had attached to the interface",
                      {{"device", record.device_key}, {"id", id_text(ErrorId::host_uses_device)}});
    TRY(pod.detach_programs(*link));
  }
  if (link) link = TRY(wait_for_mac(plan, std::move(*link), pod, world));
  if (!plan.ipoib()) TRY(move_rdma(record, plan, pod, world));
  // After the last move, and before the runtime, which waits for ADD's result, creates the container.
  TRY(correct_cdi_spec(record, plan, world));
  return link;
}

// A roll-back is a DEL of what exists so far.
Result<> roll_back_attach(const Attached& attached, const Request& request, const NetConf& conf,
                          World& world) {
  Holdings held{
      .record = attached.record, .request = request, .network = conf, .allocation = AllocateAnswer::kept};
  if (!attached.address_asked) held.network.entry.ipam_type.clear();
  auto released = release(held, world);
  if (released || !attached.address_refused || !is_answer(released.error())) return released;
  // A plugin that is broken for good would keep the pod in Terminating for ever.
  Record refused = attached.record;
  refused.address_refused = true;
  const auto lock = world.store.lock_device(refused.device_key, world.lock_timeout);
  const auto saved = lock ? world.store.replace(refused) : Result<>(lock.error());
  if (!saved) (void)std::move(released.error()).and_also(saved.error().text);
  return released;
}

// Under the device's lock: reads, decides, writes the record, moves. `out` outlives `tx`.
Result<> move_device(const Request& request, const NetConf& conf, Chained chained, Kernel& pod, World& world,
                     Attached& out, Transaction& tx) {
  const AttachmentName us{request.container_id, request.ifname};
  TRY(release_own_orphan(us, world));
  // Only a device that is selected by something else than its address must be read to know its lock.
  const std::string key =
      conf.device.id ? conf.device.id->text() : TRY(find_free_device(conf.device, us, world)).key();
  const auto lock = TRY(world.store.lock_device(key, world.lock_timeout), "wait for " + key);
  TRY(restore_orphaned_device(key, us, world));
  TRY(refuse_unclean(key, chained == Chained::rdma ? IfAway::leave : IfAway::wait, world));
  restore_names(key, world);
  State begun = TRY(find_locked_device(conf.device, conf.rdma.policy, chained, key, world));
  const State before = TRY(read_state(std::move(begun), conf, request, pod, world));
  AttachPlan plan = TRY(plan_attach(request, conf, before));
  warn_of_keys(plan.warnings, world);
  warn_of_mac(request, conf.link.mac, before, world.log);
  warn_of_host_config(before, world.log);
  out.reported_mac = plan.reported_mac;
  out.reported_mtu = plan.reported_mtu;

  out.in_pod = TRY(read_rdma_before_move(conf.rdma.policy, before, world));
  out.record = make_record(request, conf.entry.network, before, plan);
  out.record.netns_id = pod.netns_id();
  out.record.host_netns = world.host.netns_id();
  out.record.boot_id = TRY(this_boot(world.sys));
  warn_of_reset(conf.safety, out.record, world);
  TRY(prepare_baseline(out.record, world));
  TRY(with_id(ErrorId::state_folder, world.store.save(out.record)), "save what is going to be changed");
  tx.undo("restore " + out.record.device_key, [&] { return roll_back_attach(out, request, conf, world); });
  out.link = TRY(change_device(request, conf, std::move(plan), pod, world, out.record));
  world.search.renew(conf.safety.search_timeout);
  return out.link ? clear_of_others(out.record, *out.link, pod, world) : Result<>();
}

// With `mode`: in place of move_device(). No device is changed, so none is locked; the key is the
// attachment's own.
Result<> make_child(const Request& request, const NetConf& conf, Kernel& pod, World& world, Attached& out,
                    Transaction& tx) {
  TRY(release_own_orphan({request.container_id, request.ifname}, world));
  PlannedChild planned = TRY(prepare_child(request, conf, pod, world));
  const std::string& key = planned.record.device_key;
  const auto lock = TRY(world.store.lock_device(key, world.lock_timeout), "wait for " + key);
  out.record = std::move(planned.record);
  out.in_pod = std::move(planned.in_pod);
  TRY(with_id(ErrorId::state_folder, world.store.save(out.record)), "save what is going to be created");
  tx.undo("remove the interface", [&] { return roll_back_attach(out, request, conf, world); });
  out.link = TRY(create_child(planned.plan, pod, world, out.record));
  return {};
}

Result<Assignment> assign_addresses(const Request& request, const std::string& ipam_type, World& world,
                                    Attached& attached) {
  if (ipam_type.empty()) return Assignment{};
  attached.address_asked = true;
  const auto lock = TRY(world.store.lock_ipam({request.container_id, request.ifname}, world.lock_timeout));
  auto ran = run_ipam(request, Command::add, ipam_type, world.ipam_timeout, lock.fd());
  attached.address_refused = !ran && is_answer(ran.error());
  const auto answer = TRY(std::move(ran));
  const std::string what = "answer of IPAM plugin " + ipam_type;
  if (!answer) return Error{Errc::protocol, 0, what + ": empty, must be a result", ErrorId::ipam_answer};
  Assignment out = TRY(with_id(ErrorId::ipam_answer, parse_assignment(*answer)), what);
  if (out.ips.empty()) return Error{Errc::protocol, 0, what + ": ips has no address", ErrorId::ipam_answer};
  return out;
}

Result<AddResult> attach(const Request& request, const NetConf& conf, Chained chained, Kernel& pod,
                         World& world, Attached& attached, Transaction& tx) {
  // Before anything has changed.
  if (!conf.entry.ipam_type.empty()) TRY(find_plugin(conf.entry.ipam_type, request.path));
  TRY(conf.child ? make_child(request, conf, pod, world, attached, tx)
                 : move_device(request, conf, chained, pod, world, attached, tx));
  // The device's lock is released: an IPAM plugin can take minutes, and the record protects the device.
  AddResult out;
  out.assignment = TRY(assign_addresses(request, conf.entry.ipam_type, world, attached));
  if (attached.link) {
    const Record& record = attached.record;
    if (record.link && conf.safety.host_config == HostConfigUse::move)
      add_host_config(*record.link, out.assignment);
    PodSettings settings = conf.pod;
    settings.keeps_own_arp = conf.pod.source_routing || !request.rail_of.empty();
    TRY(configure_pod(pod, *attached.link, out.assignment, settings, record.routing_table));
    announce(pod, *attached.link, out.assignment, world.log);
  }
  out.assignment.dns = merged_dns(conf.entry.dns, out.assignment.dns);
  out.ifname = request.ifname;
  out.sandbox = request.netns;
  out.cni_version = conf.entry.cni_version;
  out.prev_result = conf.entry.prev_result;
  out.mtu_in_1_0 = conf.entry.type == "sriov";
  if (attached.link) {
    out.mac = attached.link->mac.text();
    out.mtu = attached.link->mtu;
  } else {
    if (attached.reported_mac) out.mac = attached.reported_mac->text();
    out.mtu = attached.reported_mtu;
  }
  const auto& device = attached.record.device;
  if (device && device->pci()) out.pci_id = device->text();
  world.log.info("attached",
                 {{"device", attached.record.device_key},
                  {"was", attached.record.link ? attached.record.link->name : "-"},
                  {"rdma", attached.record.rdma.empty() ? "-" : attached.record.rdma.front().name}});
  correct_device_info(conf.device_info_file, conf.rdma.policy, attached.record, world);
  warn_of_carrier(attached.link, attached.record, world);
  // Last, so that the kernel makes the GID meanwhile.
  record_in_pod({request, conf.entry.prev_result, chained, attached.link, out.assignment, attached.in_pod},
                pod, world, attached.record);
  describe_to_pod(attached.record, world);
  describe_to_claims(request, attached.record, world);
  return chained == Chained::rdma ? pass_on(conf.entry) : out;
}

// An IPAM plugin that fails at ADD mostly fails at the roll-back's DEL with the same long text.
std::string without_repetition(std::string also, const std::string& first, const std::string& ipam_type) {
  const std::string plugin = "IPAM plugin " + ipam_type + ", ADD: ";
  const size_t at = first.find(plugin);
  if (ipam_type.empty() || at == std::string::npos) return also;
  const std::string words = first.substr(at + plugin.size());
  const size_t again = words.empty() ? std::string::npos : also.find(words);
  return again == std::string::npos ? also : also.replace(again, words.size(), "the same");
}

}  // namespace

Result<AddResult> add(const Request& request, World& world) {
  NetConf conf = TRY(request.config.conf(), "network configuration");
  warn_of_keys(conf.warnings, world);
  const auto pod = TRY(world.open_netns(request.netns));
  if (!pod)
    return Error{Errc::wrong_netns, 0,
                 "CNI_NETNS " + request.netns + " is not a network namespace" + kPodHasEnded};
  const auto lock = TRY(lock_attachment({request.container_id, request.ifname}, "ADD", world));
  const Chained chained = conf.child ? Chained::no : TRY(read_chain(request, conf, *pod, world));
  if (chained == Chained::complete) {
    world.log.info("an entry of vfrail earlier in the chain has attached everything");
    AddResult out = pass_on(conf.entry);
    TRY(world.print_result(out));
    return out;
  }
  Attached attached;
  Transaction tx;
  auto result = attach(request, conf, chained, *pod, world, attached, tx);
  const auto reported = result ? world.print_result(*result) : Result<>();
  if (result && reported) {
    tx.commit();
    return result;
  }
  Error error = result ? reported.error() : std::move(result).error();
  const std::string failed = without_repetition(tx.roll_back(), error.text, conf.entry.ipam_type);
  if (!failed.empty()) error.text += "; rollback failed: " + failed;
  return error;
}

}  // namespace vfrail::cni
