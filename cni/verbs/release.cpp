#include "cni/verbs/release.h"

#include "cni/baseline/baseline.h"
#include "cni/baseline/host_config_restore.h"
#include "cni/ipam/ipam.h"
#include "cni/node/boot.h"
#include "cni/node/device.h"
#include "cni/node/namespaces.h"
#include "cni/plan/rails.h"
#include "cni/steps/link_steps.h"
#include "cni/steps/pod_files_step.h"
#include "cni/steps/rdma_steps.h"
#include "cni/steps/rebind_step.h"
#include "cni/steps/rule_steps.h"
#include "cni/steps/stacked.h"
#include "cni/steps/tuning_step.h"
#include "cni/steps/vf_steps.h"
#include "cni/verbs/attachment.h"
#include "cni/verbs/child.h"
#include "common/container/allocated_nodes.h"
#include "common/errors/error_id.h"
#include "common/text.h"

#include <cerrno>

namespace vfrail::cni {

namespace {

// What can be read of a configuration that no ADD accepts: only its IPAM plugin.
Result<NetConf> network_of_refused(const Configuration& config, Error refusal) {
  if (refusal.code == Errc::protocol) return refusal;  // not JSON: it cannot be known whose DEL this is
  NetConf out;
  out.entry.ipam_type = config.ipam_type();
  return out;
}

// The configuration, if an ADD can have accepted it.
Result<NetConf> served_conf(const Configuration& config) {
  NetConf out = TRY(config.conf());
  if (version_supported(out.entry.cni_version)) return out;
  return Error{Errc::invalid, 0, "cniVersion " + out.entry.cni_version + " is not supported",
               ErrorId::cni_version};
}

// The request that DEL of this attachment would have been, from its record.
Request del_request(const Record& record) {
  Request out;
  out.command = Command::del;
  out.container_id = record.attachment.container_id;
  out.ifname = record.attachment.ifname;
  out.netns = record.netns;
  out.config = record.config;
  out.raw_args = record.cni_args;
  out.raw_path = record.cni_path;
  Environment environment{{"CNI_COMMAND", "DEL"},     {"CNI_CONTAINERID", out.container_id},
                          {"CNI_IFNAME", out.ifname}, {"CNI_NETNS", out.netns},
                          {"CNI_ARGS", out.raw_args}, {"CNI_PATH", out.raw_path}};
  auto parsed = read_request(environment, record.config);
  return parsed ? std::move(*parsed) : out;
}

}  // namespace

Result<Holdings> find_holdings(std::optional<Record> record, const Request& request, World& world) {
  Holdings out{.record = std::move(record), .request = request, .network = {}};
  auto conf = served_conf(request.config);
  if (out.record) {
    if (!conf)
      world.log.warning("the configuration cannot be used, DEL uses that of ADD",
                        {{"reason", conf.error().text}, {"id", conf.error().id_text()}});
    // The address is released where ADD got it: the network may have been edited since, and of a chain with
    // two entries of vfrail the last one is called first, which has no IPAM.
    out.request = request_of(*out.record, request);
    const Configuration& then = out.request.config;
    out.network.entry.ipam_type = then.conf() ? then.conf()->entry.ipam_type : then.ipam_type();
    out.address_expected = !out.record->address_refused;
    return out;
  }
  if (!conf) {
    world.log.warning("nothing is attached, and with this configuration nothing can have been",
                      {{"reason", conf.error().text}, {"id", conf.error().id_text()}});
    out.address_expected = false;
    conf = network_of_refused(request.config, std::move(conf).error());
  }
  out.network = TRY(std::move(conf), "network configuration");
  return out;
}

namespace {

Result<std::string> reset_as_wanted(const Record& record, World& world) {
  const auto conf = parse_net_conf(record.config);
  return conf && conf->safety.reset ? reset_device(record, world) : Result(std::string());
}

std::chrono::seconds search_timeout(const Record& record) {
  const auto conf = parse_net_conf(record.config);
  return conf ? conf->safety.search_timeout : kUsualSearchTimeout;
}

}  // namespace

Result<> restore_device(const Record& record, const std::string& netns, World& world) {
  if (!TRY(from_this_boot(record, world))) return {};  // the boot has reset every device
  if (record.child) return remove_child(record, TRY(open_pod(record, netns, world)).get(), world);
  world.search.renew(search_timeout(record));
  TRY(restore_driver(record, world));
  const auto pod = TRY(open_pod(record, netns, world));
  // Nothing is touched before it is in the host: another plugin may have attached a device that does not
  // return.
  if (!pod) TRY(wait_for_return(record, world));
  restore_irqs(record, world);  // while the interface is up
  // The RDMA device first: it refers to the netdev, and some drivers re-create things when their netdev goes.
  TRY(restore_rdma(record, pod.get(), world));
  const VfSettings refused = TRY(restore_vf_identity(record, world));
  TRY(restore_link(record, pod.get(), world));
  std::string not_reset = TRY(reset_as_wanted(record, world));
  TRY(restore_host_config(record, world));
  auto remains = TRY(clear_interface(record, pod.get(), world));
  if (!not_reset.empty()) remains.push_back(std::move(not_reset));
  const VfSettings all_refused = refused.with(TRY(restore_vf_policy(record, world)));
  TRY(restore_baseline(record, all_refused, std::move(remains), world));
  return pod ? remove_rules(record, *pod) : Result<>();
}

namespace {

// Not those of a later Allocate, to the next pod, which can come before this DEL. No reason to keep a pod
// from ending either: an ADD that would meet them refuses them.
void end_allocated_nodes_of(const Record& record, World& world) {
  const auto& file = record.allocated_file;
  if (!record.device || (file && file->empty())) return;
  const auto end = [&]() -> Result<> {
    // The record of an older version cannot tell the files apart; those of another boot are gone in any case.
    if (!file && !TRY(from_this_boot(record, world))) return {};
    return end_allocated_nodes(world.run_folder, *record.device, file);
  };
  const auto ended = end();
  if (!ended)
    world.log.warning(
        "the file of the device nodes that the container was allocated could not be removed",
        {{"device", record.device_key}, {"reason", ended.error().text}, {"id", ended.error().id_text()}});
}

// Restores the device, unless the attachment no longer has it: then it is left alone. The record stays,
// without its device. `netns` is a hint where the pod's namespace may be, beside the record's own path.
Result<> detach(const Record& record, const std::string& netns, AllocateAnswer allocation, World& world) {
  const auto lock =
      TRY(world.store.lock_device(record.device_key, world.lock_timeout), "wait for " + record.device_key);
  const auto owner = TRY(world.store.find_owner(record.device_key));
  if (owner != record.attachment) {
    // None: an earlier DEL has restored it, and then could not release the address.
    if (owner)
      world.log.info("the device has been allocated to another attachment, it is not touched",
                     {{"device", record.device_key}});
    return world.store.remove_leftovers(record.device_key);  // an ADD was killed before it had the device
  }
  TRY(restore_device(record, netns, world), "restore " + record.device_key);
  if (allocation == AllocateAnswer::ended) end_allocated_nodes_of(record, world);
  // From here on another ADD can attach the device while the IPAM plugin still runs for this DEL.
  return world.store.remove_owner(record);
}

// The key that ADD would use. No value if there is no such device, or the configuration names none: then
// there is nothing to restore.
Result<std::optional<std::string>> device_key(const DeviceSelector& selector, const World& world) {
  if (selector.id) return std::optional(selector.id->text());
  auto device = find_device(world.sys, world.host, selector);
  if (device) return std::optional(device->key());
  const Errc why = device.error().code;
  if (why == Errc::not_found || why == Errc::invalid) return std::optional<std::string>();
  return std::move(device).error();
}

// DEL of an attachment without a record (never made, already released, or the state folder was lost): the
// address is released; a device in the pod under that name is the one the runtime means, and is returned.
Result<> detach_unrecorded(const Request& request, const DeviceSelector& selector,
                           const std::string& ipam_type, World& world) {
  const auto key = TRY(device_key(selector, world));
  if (!key) return {};
  // An ADD that was killed before its record was complete leaves files: that of its lock, which is removed
  // with ours, and another.
  const auto lock = TRY(world.store.lock_device(*key, world.lock_timeout), "wait for " + *key);
  TRY(world.store.remove_leftovers(*key));
  // Without IPAM this may be the entry of a chain that moved the RDMA device only; then the interface belongs
  // to another plugin. The kernel returns hardware when the namespace ends in any case.
  if (request.netns.empty() || !selector.id || ipam_type.empty()) return {};
  const auto pod = TRY(world.open_netns(request.netns));
  if (!pod || pod->netns_id() == world.host.netns_id()) return {};
  const auto link = TRY(pod->find_link(request.ifname), "in the pod");
  if (!link || link->parent_device != selector.id->text()) return {};
  if (TRY(world.store.owner(*key))) return {};
  world.log.warning(
      "no record of this attachment: the interface is moved to the host without its original name and "
      "settings",
      {{"device", selector.id->text()},
       {"ifname", request.ifname},
       {"container", request.container_id},
       {"id", id_text(ErrorId::not_attached)}});
  TRY(pod->change_link(link->index, {.netns_fd = world.host.netns_fd(), .name = "dev%d"}),
      "move " + request.ifname + " of " + *key + " to the host");
  return restore_unrecorded(*key, world);
}

// A killed process closes its files when it is next scheduled.
constexpr std::chrono::seconds kEndOfKilled{5};

// A client such as dhcp's sends its release through the interface, from the pod.
bool releases_through_interface(const std::string& ipam_type) { return ipam_type == "dhcp"; }

// The plugin of a killed ADD would assign an address after this DEL has released all. Nobody waits for it:
// our own lock excludes every other verb of the attachment.
Result<FileLock> await_last_plugin(const AttachmentName& name, World& world) {
  auto lock = world.store.lock_ipam(name, world.lock_timeout);
  if (lock || lock.error().sys != EWOULDBLOCK) return lock;
  Error held = std::move(lock.error()).in("wait for the IPAM plugin of a verb that was killed");
  if (!TRY(kill_holder(world.sys, world.store.ipam_lock_file(name)), held.text)) {
    held.text += "; it is not known which process it is: find it with fuser and end it";
    return held;
  }
  world.log.warning("the IPAM plugin of a verb that was killed has not ended, it is killed",
                    {{"reason", held.text}, {"id", held.id_text()}});
  return world.store.lock_ipam(name, kEndOfKilled);
}

Result<> release_address(const Holdings& held, World& world) {
  const Request& request = held.request;
  const std::string& type = held.network.entry.ipam_type;
  if (type.empty()) return {};
  const auto program = find_plugin(type, request.path);
  // Without a record no ADD has succeeded, or the address is lost with the plugin that knows it: no retry
  // would find more.
  const bool nobody_to_ask = !program && (program.error().code == Errc::invalid || !held.record);
  if (nobody_to_ask) {
    world.log.warning("there is no address to release",
                      {{"reason", program.error().text}, {"id", program.error().id_text()}});
    return {};
  }
  const auto its_end = await_last_plugin({request.container_id, request.ifname}, world);
  if (!its_end && its_end.error().code == Errc::busy) return its_end.error();
  std::optional<Error> failure;
  if (!its_end) failure = its_end.error();
  auto released = run_ipam(request, Command::del, type, world.ipam_timeout, its_end ? its_end->fd() : -1);
  if (!released && !failure) {
    failure = std::move(released).error();
  } else if (!released) {
    (void)std::move(*failure).and_also(released.error().text);
  }
  if (!failure) return {};
  if (held.address_expected) return std::move(*failure);
  world.log.warning("no address was released, and none can have been assigned",
                    {{"reason", failure->text}, {"id", failure->id_text()}});
  return {};
}

// The files of a killed verb, or of a record that could not be read.
void remove_abandoned_files(const std::string& container_id, World& world) {
  const auto removed = with_id(ErrorId::pod_files, remove_abandoned_pod_folder(container_id, world));
  if (!removed.ok())
    world.log.warning("the files of the container cannot be removed",
                      {{"reason", removed.error().text}, {"id", removed.error().id_text()}});
}

// Removes the record of an attachment whose device is detached, and the attachment from the files of its pod.
// What a failure leaves of the files is removed by a sweep: no pod has to wait for it.
Result<> remove_record(const Record& record, World& world) {
  const auto pod_lock = with_id(ErrorId::pod_files, restore_pod_files(record, world));
  if (!pod_lock)
    world.log.warning("the files of the pod still have this attachment",
                      {{"reason", pod_lock.error().text}, {"id", pod_lock.error().id_text()}});
  return world.store.remove(record);
}

}  // namespace

Result<> release(const Holdings& held, World& world) {
  std::optional<Error> failure;
  const auto note = [&](Result<> result) {
    if (result) return;
    if (failure) {
      (void)std::move(*failure).and_also(result.error().text);
    } else {
      failure = std::move(result).error();
    }
  };
  const bool address_first = releases_through_interface(held.network.entry.ipam_type);
  if (address_first) note(release_address(held, world));
  note(held.record
           ? detach(*held.record, held.request.netns, held.allocation, world)
           : detach_unrecorded(held.request, held.network.device, held.network.entry.ipam_type, world));
  // Any other address that is still live in the pod must not be assigned again. The record stays, for the DEL
  // that can detach the device; without one nothing would ever release it.
  const bool still_live = held.record && failure;
  if (!address_first && !still_live) note(release_address(held, world));
  // Last, and only if nothing is left for a retry, a later ADD of the device, or GC.
  if (held.record && !failure) note(remove_record(*held.record, world));
  if (!held.record) remove_abandoned_files(held.request.container_id, world);
  return failure ? Result<>(std::move(*failure)) : Result<>();
}

Result<> release(const Record& record, AllocateAnswer allocation, World& world) {
  Holdings held = TRY(find_holdings(record, del_request(record), world));
  held.allocation = allocation;
  return release(held, world);
}

Result<bool> release_if(const Record& record, World& world, const std::function<Result<bool>()>& decide) {
  const auto ours = TRY(lock_attachment(record.attachment, "clean-up", world));
  if (TRY(world.store.load(record.attachment)) != record) return false;
  {
    const auto lock =
        TRY(world.store.lock_device(record.device_key, world.lock_timeout), "wait for " + record.device_key);
    if (!TRY(decide())) return false;
  }
  TRY(release(record, AllocateAnswer::ended, world));
  return true;
}

}  // namespace vfrail::cni
