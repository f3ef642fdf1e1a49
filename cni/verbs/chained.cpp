#include "cni/verbs/chained.h"

#include "cni/node/boot.h"
#include "cni/node/device.h"
#include "cni/verbs/orphan.h"
#include "common/errors/error_id.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// Results before 0.3.0 name no interfaces; then only the pod shows.
bool has_interface(const Json& prev_result, const Request& request) {
  const Json result = current_result(prev_result);
  const Json* interfaces = result.find("interfaces");
  if (interfaces == nullptr || interfaces->as_array() == nullptr) return true;
  const auto& list = *interfaces->as_array();
  return std::any_of(list.begin(), list.end(), [&](const Json& one) {
    const Json* name = one.find("name");
    const Json* sandbox = one.find("sandbox");
    return name != nullptr && *name == Json(request.ifname) && sandbox != nullptr &&
           *sandbox == Json(request.netns);
  });
}

// Our own attachment of that name, if it is alive.
Result<std::optional<Record>> active_record(const Request& request, World& world) {
  auto record = world.store.load({request.container_id, request.ifname});
  if (!record && record.error().code == Errc::protocol) return std::optional<Record>();  // ADD quarantines it
  auto found = TRY(std::move(record));
  const bool active = found && TRY(from_this_boot(*found, world)) && TRY(is_attached(*found, world));
  return active ? std::move(found) : std::nullopt;
}

Error other_device(const Request& request, const std::string& has, const std::string& wanted) {
  return Error{Errc::invalid, 0,
               request.ifname + " in the pod is the interface of " + has +
                   ", but this entry of the chain names " + wanted,
               ErrorId::chain_conflict};
}

// The device that the pod's interface belongs to.
Result<DeviceId> device_of(const Link& link, const Request& request, const std::optional<DeviceId>& named,
                           World& world) {
  const bool is_known_bus =
      link.parent_bus.empty() || link.parent_bus == "pci" || link.parent_bus == "auxiliary";
  const std::string parent = is_known_bus ? link.parent_device : "";
  if (!named) {
    if (!parent.empty()) return DeviceId::parse(parent);
    return Error{Errc::invalid, 0,
                 "deviceID is missing, and the kernel does not report which device " + request.ifname +
                     " in the pod belongs to",
                 ErrorId::no_device_named};
  }
  if (!parent.empty() && parent != named->text()) return other_device(request, parent, named->text());
  if (!parent.empty()) return *named;
  // Kernels before 5.14 do not report the parent; then at least it must not be in the host.
  const auto device = TRY(read_device(world.sys, *named, Facts::netdevs)).value_or(Device());
  for (const Netdev& netdev : device.netdevs) {
    if (TRY(world.host.find_link(netdev.name)))
      return other_device(request, "another device", named->text() + ", which has " + netdev.name + " here");
  }
  return *named;
}

Error set_by_earlier(const std::string& key, const char* what) {
  return Error{Errc::invalid, 0,
               key + ": " + what +
                   " by an earlier entry of this chain, and that one sets it; take it out of this entry",
               ErrorId::chain_conflict};
}

// The previous entry has done, or left out, what the key asks for.
Result<> refuse_interface_key(const std::string& key) {
  if (key.empty()) return {};
  return set_by_earlier(key, "the interface was created");
}

// The record has one configuration, which made the pod's files and the name of its RDMA device.
Result<> refuse_other_keys(const RdmaConf& rdma, const NcclVariables& nccl, const Record& ours) {
  const Configuration first(ours.config);
  const NetConf then = first.conf() ? *first.conf() : NetConf();
  constexpr const char* kWhat = "the device was attached";
  // The second entry would report success for a pod without an RDMA device.
  if (rdma.policy == RdmaPolicy::require && then.rdma.policy == RdmaPolicy::off)
    return Error{
        Errc::invalid, 0,
        "an earlier entry of this chain leaves the RDMA device in the host (\"rdmaIsolation\": false, or "
        "\"rdma\": \"off\"), and this one wants it in the pod: take that key out, the first entry moves both",
        ErrorId::chain_conflict};
  if (!rdma.name.empty() && rdma.name != then.rdma.name) return set_by_earlier("rdmaName", kWhat);
  if (!nccl.empty() && nccl != then.nccl) return set_by_earlier("nccl", kWhat);
  return {};
}

}  // namespace

Result<Chained> read_chain(const Request& request, NetConf& conf, Kernel& pod, World& world) {
  // Alone it would attach an interface that nobody asked for.
  if (!conf.entry.prev_result && conf.entry.type == "rdma") {
    return Error{Errc::invalid, 0,
                 "prevResult is missing: an entry of type rdma stands behind the plugin that creates the "
                 "interface; use type vfrail for an attachment of its own",
                 ErrorId::network_config};
  }
  if (!conf.entry.prev_result || !has_interface(*conf.entry.prev_result, request)) return Chained::no;
  const auto link = TRY(pod.find_link(request.ifname), "in the pod");
  if (!link || link->name != request.ifname) return Chained::no;
  if (const auto ours = TRY(active_record(request, world))) {
    if (conf.device.id && ours->device && *conf.device.id != *ours->device)
      return other_device(request, ours->device->text(), conf.device.id->text());
    TRY(refuse_interface_key(conf.interface_key));
    TRY(refuse_other_keys(conf.rdma, conf.nccl, *ours));
    return Chained::complete;
  }
  TRY(refuse_interface_key(conf.interface_key));
  const DeviceId id = TRY(device_of(*link, request, conf.device.id, world));
  conf.device = DeviceSelector{};
  conf.device.id = id;
  return Chained::rdma;
}

AddResult pass_on(const EntryConf& entry) {
  AddResult out;
  out.prev_result = entry.prev_result;
  out.cni_version = entry.cni_version;
  return out;
}

}  // namespace vfrail::cni
