#include "cni/device.h"
#include "cni/ipam.h"
#include "cni/steps.h"
#include "cni/verbs.h"
#include "common/promise.h"

#include <cerrno>

namespace vfrail {

namespace {

// The key that ADD would use. Nothing if there is no such device: then there is nothing to give back either.
std::optional<std::string> device_key(const NetConf& conf, const World& world) {
  if (conf.device.id) return conf.device.id->text();
  const auto device = find_device(world.sys, world.host, conf.device);
  return device ? std::optional(device->key) : std::nullopt;
}

// DEL of an attachment without a record (never made, already gone, or the state folder was lost): the address
// is released; a device that is in the pod under that name is what the runtime means, and is sent home.
Result<> detach_unrecorded(const Request& request, const NetConf& conf, World& world) {
  const auto key = device_key(conf, world);
  if (!key) return {};
  // An ADD that was killed before its record was complete leaves files: its lock's, which goes with ours, and
  // another.
  const auto lock = TRY(world.store.lock_device(*key, world.lock_timeout), "wait for " + *key);
  TRY(world.store.remove_leftovers(*key), "");
  // Without IPAM it may be the entry of a chain that moved the RDMA device only: then the interface is
  // another plugin's. The kernel brings hardware home at the end of the namespace in any case.
  if (request.netns.empty() || !conf.device.id || conf.ipam_type.empty()) return {};
  const auto pod = TRY(world.open_netns(request.netns), "");
  if (!pod || pod->netns_id() == world.host.netns_id()) return {};
  const auto link = TRY(pod->find_link(request.ifname), "look for " + request.ifname + " in the pod");
  if (!link || link->parent_device != conf.device.id->text()) return {};
  if (TRY(world.store.owner(*key), "")) return {};
  world.log.warning("no record of this attachment: the interface goes home without its old name and settings",
                    {{"device", conf.device.id->text()}});
  return pod->change_link(link->index, {.netns_fd = world.host.netns_fd(), .name = "dev%d"});
}

// For when the caller has the device's lock.
Result<bool> detach_locked(const Record& record, const std::string& netns, World& world) {
  if (TRY(world.store.owner(record.device_key), "") != record.attachment) {
    world.log.info("the device has been given to another attachment, it is left alone",
                   {{"device", record.device_key}});
    return false;
  }
  TRY(restore_device(record, netns, world), "give back " + record.device_key);
  return true;
}

// The device comes home, and what its container was told is void.
Result<> give_back(const Record& record, const std::string& netns, DeviceLock lock, World& world) {
  const bool had_it = lock == DeviceLock::held ? TRY(detach_locked(record, netns, world), "")
                                               : TRY(detach(record, netns, world), "");
  return had_it && record.device ? end_promise(world.run_folder, *record.device) : Result<>();
}

// A record that cannot be read blocks nobody: it is moved aside, and DEL goes on without.
Result<std::optional<Record>> load_record(const AttachmentName& name, World& world) {
  auto record = world.store.load(name);
  if (record || record.error().code != Errc::protocol) return record;
  world.log.error("the record cannot be read, it is set aside", {{"reason", record.error().text}});
  TRY(world.store.set_aside(name), "");
  return std::optional<Record>();
}

// The address that ADD assigned must not be forgotten with the record, whoever asks for DEL: of a chain with
// two entries of vfrail the last one is asked first, and it has no IPAM.
void use_ipam_of(const Record& record, Request& asked, NetConf& network) {
  const auto then = parse_net_conf(record.config);
  if (!then || then->ipam_type.empty()) return;
  asked.config = record.config;
  network = *then;
}

}  // namespace

Result<std::string> boot_id(const SysRoot& sys) {
  return TRY(sys.text("proc/sys/kernel/random/boot_id"), "").value_or("");
}

Result<bool> from_this_boot(const Record& record, const World& world) {
  return record.boot_id == TRY(boot_id(world.sys), "");
}

// A path that leads to another namespace now was used again: its interfaces are not ours.
Result<std::unique_ptr<Kernel>> open_pod(const Record& record, const std::string& netns, const World& world) {
  for (const std::string& path : {record.netns, netns}) {
    if (path.empty()) continue;
    auto pod = TRY(world.open_netns(path), "");
    if (pod && pod->netns_id() == record.netns_id && pod->netns_id() != world.host.netns_id()) return pod;
  }
  return std::unique_ptr<Kernel>();
}

Result<bool> attachment_lives(const Record& record, World& world) {
  const auto pod = TRY(open_pod(record, "", world), "");
  if (!pod) return false;
  if (record.link) return TRY(find_link_in_pod(record, *pod), "").has_value();
  if (record.rdma.empty()) return true;  // nothing of it moves (vfio), so its namespace decides
  return TRY(find_rdma_in_pod(record, 0, *pod), "").has_value();
}

Result<> restore_device(const Record& record, const std::string& netns, World& world) {
  if (!TRY(from_this_boot(record, world), "")) return {};  // the boot has made every device what it is
  const auto pod = TRY(open_pod(record, netns, world), "");
  // Nothing is touched before it is home: what does not come back, another plugin may have given to its pods.
  if (!pod) TRY(wait_for_return(record, world), "");
  // The RDMA device first: it refers to the netdev, and some drivers re-create things when their netdev goes.
  TRY(bring_rdma_back(record, pod.get(), world), "");
  TRY(restore_vf_identity(record, world), "");
  TRY(bring_link_back(record, pod.get(), world), "");
  TRY(restore_vf_policy(record, world), "");
  return pod ? remove_rules(record, *pod) : Result<>();
}

Result<bool> detach(const Record& record, const std::string& netns, World& world) {
  const auto lock =
      TRY(world.store.lock_device(record.device_key, world.lock_timeout), "wait for " + record.device_key);
  return detach_locked(record, netns, world);
}

Result<> forget(const Record& record, World& world) {
  const auto lock =
      TRY(world.store.lock_device(record.device_key, world.lock_timeout), "wait for " + record.device_key);
  return world.store.remove(record);
}

namespace {

// DEL with the record that was found, or without one.
Result<> detach_and_release(const std::optional<Record>& record, const Request& request, DeviceLock lock,
                            World& world) {
  std::optional<Error> failure;
  const auto note = [&](Result<> result) {
    if (result) return true;
    failure = failure ? std::move(*failure).and_also(result.error().text) : std::move(result).error();
    return false;
  };
  Request asked = request;
  auto conf = parse_net_conf(asked.config);
  if (!conf && record) {
    // The network was edited since ADD. What ADD did can be undone all the same.
    world.log.warning("the configuration cannot be used, DEL goes by that of ADD",
                      {{"reason", conf.error().text}});
    asked.config = record->config;
    conf = parse_net_conf(asked.config);
  }
  NetConf network = TRY(std::move(conf), "network configuration");
  if (record && network.ipam_type.empty()) use_ipam_of(*record, asked, network);
  // The device first: an address that is still live in the pod must not go to another one.
  const bool device_home =
      note(record ? give_back(*record, asked.netns, lock, world) : detach_unrecorded(asked, network, world));
  if (!network.ipam_type.empty()) {
    // The plugin of an ADD that was killed goes on, and would take an address when this one has given back
    // all.
    const auto its_end = world.store.lock_ipam({asked.container_id, asked.ifname}, world.lock_timeout);
    if (!its_end && its_end.error().sys == EWOULDBLOCK) {
      world.log.warning("an IPAM plugin still runs, it is not waited for",
                        {{"reason", its_end.error().text}});
    } else if (!its_end) {
      note(its_end.error());
    }
    auto released =
        run_ipam(asked, Command::del, network.ipam_type, world.ipam_timeout, its_end ? its_end->fd() : -1);
    if (!released) note(std::move(released).error());
  }
  // Last, and only if there is nothing left to do by a retry, a later ADD of the device, or GC.
  if (record && device_home && !failure) {
    note(lock == DeviceLock::held ? world.store.remove(*record) : forget(*record, world));
  }
  if (failure) return std::move(*failure);
  world.log.info("detached", {{"device", record ? record->device_key : "-"}});
  return {};
}

// The request that DEL of this attachment would have been, from what its record kept.
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

Result<> del(const Request& request, World& world) {
  const auto record = TRY(load_record({request.container_id, request.ifname}, world), "");
  return detach_and_release(record, request, DeviceLock::free, world);
}

Result<bool> undo(const Record& record, World& world, const std::function<Result<bool>()>& decide) {
  const auto lock =
      TRY(world.store.lock_device(record.device_key, world.lock_timeout), "wait for " + record.device_key);
  if (TRY(world.store.load(record.attachment), "") != record || !TRY(decide(), "")) return false;
  TRY(detach_and_release(record, del_request(record), DeviceLock::held, world), "");
  return true;
}

}  // namespace vfrail
