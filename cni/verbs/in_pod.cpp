#include "cni/verbs/in_pod.h"

#include "cni/node/device_info.h"
#include "cni/node/host_use.h"
#include "cni/steps/gid_step.h"
#include "cni/steps/pod_files_step.h"
#include "common/errors/error_id.h"
#include "common/node/device_folder.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// The verbs node of the RDMA device `name`, whatever namespace that is in.
Result<std::string> find_verbs_node(const SysRoot& sys, const Device& device, const std::string& name) {
  if (name.empty()) return std::string();
  if (device.verbs_nodes.size() == 1) return device.verbs_nodes.front();
  const DeviceFolder folder(sys, device.id);
  for (const std::string& node : device.verbs_nodes) {
    if (TRY(read_rdma_of_node(folder, node)) == name) return node;
  }
  return std::string();
}

Result<> read_device_part(const Record& record, World& world, InPod& out) {
  const auto& function = rdma_function(record);
  if (!function) return {};
  constexpr Facts kWanted = Facts::pf | Facts::verbs_nodes | Facts::numa_node;
  const auto device = TRY(read_device(world.sys, *function, kWanted));
  if (!device) return {};
  out.pf = device->pf;
  if (!record.rdma.empty()) out.rdma = record.rdma.front().in_pod;
  out.uverbs = TRY(find_verbs_node(world.sys, *device, out.rdma));
  out.numa_node = device->numa_node;
  return {};
}

// Of several the one that the kernel uses: IPv4's, of the lowest metric.
const Route* preferred(const std::vector<Route>& routes) {
  constexpr uint32_t kMain = 254;
  const auto rank = [](const Route& one) {
    return std::pair(one.destination.v6(), one.priority.value_or(0));
  };
  const Route* out = nullptr;
  for (const Route& one : routes) {
    if (one.table == kMain && (out == nullptr || rank(one) < rank(*out))) out = &one;
  }
  return out;
}

Result<std::string> find_default_interface(Kernel& pod) {
  const auto routes = TRY(pod.default_routes(), "find the default route of the pod");
  const Route* route = preferred(routes);
  if (route == nullptr) return std::string();
  const auto link = TRY(pod.find_link(route->link), "the pod's default route");
  return link ? link->name : std::string();
}

Result<> read_in_pod(const Record& record, AddedParts& added, Kernel& pod, World& world) {
  InPod& out = added.in_pod;
  std::optional<Link> link = added.link;
  Assignment assignment = added.assignment;
  if (added.chained == Chained::rdma) {
    // An earlier plugin has made the interface, and its result has the addresses.
    const Request& request = added.request;
    link = TRY(pod.find_link(request.ifname), "in the pod");
    assignment = TRY(assignment_of(*added.prev_result, request.ifname, request.netns), "prevResult");
  }
  if (link) {
    out.mac = link->mac;
    out.mtu = link->mtu;
  }
  for (const AssignedIp& ip : assignment.ips) out.addresses.push_back(ip.address);
  TRY(read_device_part(record, world, out), "read " + record.device_key);
  // Only programs that use RDMA ask for it.
  if (!out.rdma.empty()) out.default_interface = TRY(find_default_interface(pod));
  return {};
}

// Logs what programs in the pod have to know about its GID. A pod works without it.
void await_gid(const Record& record, Kernel& pod, World& world, InPod& in_pod) {
  const auto address = first_for_gid(in_pod.addresses);
  if (in_pod.link_layer != "Ethernet" || !address) return;
  const auto found = wait_for_gid(record, in_pod, world.gid_timeout, pod, world);
  const auto warn = [&](const std::string& what, const std::string& reason, ErrorId id) {
    world.log.warning(what, {{"device", record.device_key},
                             {"rdma", in_pod.rdma},
                             {"address", address->text()},
                             {"reason", reason},
                             {"id", id_text(id)}});
  };
  const std::string late = "the RDMA device has no RoCE v2 GID of the pod's address";
  if (!found) return warn(late, found.error().text, ErrorId::gid_missing);
  if (!found->has_table) return warn(late, "its GIDs cannot be read", ErrorId::gid_missing);
  if (!found->of_addresses) return;
  if (!found->place)
    return warn(late, "none within " + std::to_string(world.gid_timeout.count()) + " ms",
                ErrorId::gid_missing);
  in_pod.gid_index = found->place->index;
  const auto& [index, expected, in_the_way] = *found->place;
  // Of a device that pods share, each has another one.
  if (index == expected || record.child) return;
  warn("the RoCE v2 GID of the pod's address has index " + std::to_string(index) + ", not " +
           std::to_string(expected),
       in_the_way.empty() ? "the entry was in use, and is free by now" : "the entry is " + in_the_way,
       ErrorId::gid_index_moved);
}

Result<> save_in_pod(const AddedParts& added, World& world, Record& record) {
  Record now = record;
  now.in_pod = added.in_pod;
  if (added.link) now.index_in_pod = added.link->index;
  const std::string& key = now.device_key;
  const auto lock = TRY(world.store.lock_device(key, world.lock_timeout), "wait for " + key);
  if (TRY(world.store.owner(key)) != now.attachment)
    return Error{Errc::busy, 0,
                 key + " has been attached to another pod meanwhile, after a DEL or GC of this attachment",
                 ErrorId::device_in_use};
  TRY(with_id(ErrorId::state_folder, world.store.save(now)), "save what the pod has got");
  record = std::move(now);
  return {};
}

}  // namespace

Result<InPod> read_rdma_before_move(RdmaPolicy policy, const State& state, const World& world) {
  InPod out;
  const Device& device = state.device;
  if (policy == RdmaPolicy::off || device.rdma.empty()) return out;
  const RdmaFacts& rdma = device.rdma.front();
  out.rdma = rdma.name;
  if (!rdma.ports.empty()) out.link_layer = rdma.ports.front().link_layer;
  // Cards with one function for all ports have one RDMA device with as many.
  const uint32_t dev_port = device.netdevs.empty() ? 0 : device.netdevs.front().dev_port.value_or(0);
  const std::string ports = std::string(kRdmaDevices) + "/" + rdma.name + "/ports/";
  if (dev_port > 0 && TRY(DeviceFolder(world.sys, device.id).exists(ports + std::to_string(dev_port + 1))))
    out.rdma_port = dev_port + 1;
  return out;
}

void record_in_pod(AddedParts added, Kernel& pod, World& world, Record& record) {
  const auto record_all = [&]() -> Result<> {
    TRY(read_in_pod(record, added, pod, world));
    await_gid(record, pod, world, added.in_pod);
    return save_in_pod(added, world, record);
  };
  const auto recorded = record_all();
  if (!recorded)
    world.log.warning("what the pod has got is not in its record, and will not be in its files",
                      {{"reason", recorded.error().text}, {"id", recorded.error().id_text()}});
}

void correct_device_info(const std::string& file, RdmaPolicy rdma, const Record& record, World& world) {
  const auto address = record.device ? record.device->pci() : std::nullopt;
  if (file.empty() || !address || rdma == RdmaPolicy::off) return;
  DeviceInfo info;
  info.address = *address;
  const bool stayed = record.rdma.empty();  // in shared mode
  const auto device =
      read_device(world.sys, *record.device, stayed ? Facts::pf | Facts::rdma : Facts::pf).or_none();
  if (device && device->pf) info.pf_address = device->pf->text();
  if (device && stayed) info.rdma = device->rdma_names();
  for (const MovedRdma& one : record.rdma) info.rdma.push_back(one.in_pod);
  const auto corrected = correct_device_info_file(file, world.device_info_folders, info);
  if (!corrected)
    world.log.warning("network-status will lack the RDMA device",
                      {{"reason", corrected.error().text}, {"id", corrected.error().id_text()}});
}

void warn_of_carrier(const std::optional<Link>& link, const Record& record, World& world) {
  if (!link || link->carrier() || !record.device) return;
  const std::string why = find_downed_pf(world.sys, *record.device);
  if (!why.empty())
    world.log.warning("the interface has no carrier in the pod",
                      {{"device", record.device_key}, {"reason", why}, {"id", id_text(ErrorId::no_carrier)}});
}

void describe_to_pod(const Record& record, World& world) {
  const auto written = with_id(ErrorId::pod_files, write_pod_files(record.attachment.container_id, world));
  if (!written)
    world.log.warning("the files of the pod do not have this attachment",
                      {{"reason", written.error().text}, {"id", written.error().id_text()}});
}

}  // namespace vfrail::cni
