#include "plugin/device/allocate/allocation.h"

#include "common/container/pod_folder.h"
#include "common/errors/error_id.h"
#include "common/json.h"
#include "common/node/driver.h"
#include "common/programs.h"
#include "common/text.h"

#include <algorithm>
#include <optional>
#include <set>

namespace vfrail::plugin {

namespace {

constexpr const char* kInfiniband = "/dev/infiniband/";
constexpr const char* kRdmaCm = "/dev/infiniband/rdma_cm";
constexpr const char* kVfio = "/dev/vfio/vfio";
constexpr const char* kIommu = "/dev/iommu";
constexpr const char* kVfioDevices = "/dev/vfio/devices/";
constexpr const char* kVhostNet = "/dev/vhost-net";
constexpr const char* kTun = "/dev/net/tun";

bool uses_vfio(const DeviceFacts& function) { return function.driver.kind() == DriverKind::vfio; }

bool uses_uio(const DeviceFacts& function) { return function.driver.kind() == DriverKind::uio; }

bool gets_vhost(const PoolDevice& device, const NodeFacts& node) {
  return device.vhost_net && node.vhost_net;
}

bool gets_iommufd(const PoolDevice& device, const NodeFacts& node) {
  return node.iommufd && uses_vfio(device.facts) && !device.facts.vfio_cdev.empty();
}

bool gets_vdpa(const PoolDevice& device) {
  return !device.vdpa_type.empty() && device.facts.vdpa.has_value();
}

// The RDMA nodes of one RDMA device in the peer's order, all ports.
std::vector<std::string> rdma_nodes(const RdmaFacts& rdma) {
  std::vector<std::string> out = {rdma.ucm};
  for (const RdmaPort& port : rdma.ports) out.push_back(port.issm);
  for (const RdmaPort& port : rdma.ports) out.push_back(port.umad);
  out.push_back(rdma.uverbs);
  out.erase(std::remove(out.begin(), out.end(), std::string()), out.end());
  return out;
}

class NodeList {
 public:
  explicit NodeList(std::string permissions) : permissions_(std::move(permissions)) {}

  void add(const std::string& path) { add({path, path, permissions_}); }
  void add(DeviceNode node) {
    if (seen_.insert(node.host_path).second) nodes_.push_back(std::move(node));
  }
  void add_all(const std::vector<DeviceNode>& nodes) {
    for (const DeviceNode& node : nodes) add(node);
  }
  std::vector<DeviceNode> take() && { return std::move(nodes_); }

 private:
  const std::string permissions_;
  std::set<std::string> seen_;
  std::vector<DeviceNode> nodes_;
};

void add_nodes(const PoolDevice& device, const NodeFacts& node, NodeList& out) {
  const DeviceFacts& facts = device.facts;
  if (device.rdma) {
    for (const RdmaFacts& rdma : facts.rdma) {
      for (const std::string& name : rdma_nodes(rdma)) out.add(kInfiniband + name);
      if (node.rdma_cm) out.add(kRdmaCm);  // behind the first device's, as in the peer
    }
  }
  if (uses_vfio(facts)) {
    const std::string group = "/dev/vfio/" + facts.iommu_group;
    out.add(kVfio);
    out.add({facts.vfio_noiommu ? "/dev/vfio/noiommu-" + facts.iommu_group : group, group, "rw"});
  }
  if (gets_iommufd(device, node)) {
    out.add(kIommu);
    out.add(kVfioDevices + facts.vfio_cdev);
  }
  if (uses_uio(facts) && !facts.uio.empty()) out.add("/dev/" + facts.uio);
  if (gets_vdpa(device) && !facts.vdpa->node.empty()) out.add("/dev/" + facts.vdpa->node);
  if (gets_vhost(device, node)) {
    out.add(kVhostNet);
    out.add(kTun);
  }
  for (const std::string& path : device.extra_nodes) out.add(path);
}

ContainerEdits own_edits(const Pool& pool, const PoolDevice& device, const NodeFacts& node) {
  NodeList out(pool.config.permissions);
  add_nodes(device, node, out);
  return {.nodes = std::move(out).take()};
}

// With several RDMA devices or ports the last path wins, as in the peer.
Json rdma_entry(const PoolDevice& device, const NodeFacts& node) {
  Json out = Json::object();
  for (const RdmaFacts& rdma : device.facts.rdma) {
    if (!rdma.uverbs.empty()) out.set("uverbs", kInfiniband + rdma.uverbs);
    for (const RdmaPort& port : rdma.ports) {
      if (!port.umad.empty()) out.set("umad", kInfiniband + port.umad);
      if (!port.issm.empty()) out.set("issm", kInfiniband + port.issm);
    }
  }
  if (node.rdma_cm) out.set("rdma_cm", kRdmaCm);
  out.set("rdma_dev", device.facts.rdma.front().name);
  return out;
}

// One device's value in the _INFO variable: an object for each provider.
Json info_entry(const ResourceConfig& resource, const PoolDevice& device, const NodeFacts& node) {
  const DeviceFacts& facts = device.facts;
  Json out = Json::object();
  out.set("generic", Json::object().set("deviceID", device.id()));
  if (uses_vfio(facts)) {
    Json vfio = Json::object();
    vfio.set("mount", kVfio).set("dev-mount", "/dev/vfio/" + facts.iommu_group);
    if (gets_iommufd(device, node))
      vfio.set("iommufd-mount", kIommu).set("cdev-mount", kVfioDevices + facts.vfio_cdev);
    out.set("vfio", std::move(vfio));
  }
  if (uses_uio(facts)) {
    Json uio = Json::object();
    if (!facts.uio.empty()) uio.set("mount", "/dev/" + facts.uio);
    out.set("uio", std::move(uio));
  }
  if (device.rdma) out.set("rdma", rdma_entry(device, node));
  if (gets_vdpa(device)) {
    Json vdpa = Json::object();
    if (!facts.vdpa->node.empty()) vdpa.set("mount", "/dev/" + facts.vdpa->node);
    out.set("vdpa", std::move(vdpa));
  }
  if (gets_vhost(device, node)) {
    out.set("vhost", Json::object().set("net-mount", kVhostNet).set("tun-mount", kTun));
  }
  if (resource.additional_info) {  // also if it has nothing for this device
    Json extra = Json::object();
    for (const auto& [key, value] : device.extra) extra.set(key, value);
    out.set("extra", std::move(extra));
  }
  return out;
}

// Device-info specification 1.1.0; `driver` of the vdpa form is the type, not the kernel driver's name.
DeviceInfoFile device_info(const Pool& pool, const PoolDevice& device) {
  Json out = Json::object();
  if (gets_vdpa(device)) {
    const Vdpa& vdpa = *device.facts.vdpa;
    Json body = Json::object();
    body.set("parent-device", vdpa.name).set("driver", device.vdpa_type);
    if (!vdpa.node.empty()) body.set("path", "/dev/" + vdpa.node);
    body.set("pci-address", device.id());
    out.set("type", "vdpa").set("version", "1.1.0").set("vdpa", std::move(body));
  } else {
    Json body = Json::object().set("pci-address", device.facts.address.text());
    std::string names;
    for (const RdmaFacts& rdma : device.facts.rdma) names += (names.empty() ? "" : ",") + rdma.name;
    if (device.rdma && !names.empty()) body.set("rdma-device", names);
    out.set("type", "pci").set("version", "1.1.0").set("pci", std::move(body));
  }
  DeviceInfoFile file;
  file.name = pool.resource() + "-" + device.id() + "-device.json";
  std::replace(file.name.begin(), file.name.end(), '/', '-');
  file.content = out.go_text(Json::Order::as_is);
  return file;
}

Error refusal(Errc code, const PoolDevice& device, const std::string& what) {
  return Error{code, 0, device.id() + ": " + what};
}

// A container that got the nodes of such a moment would have them for as long as it lives. With ib_uverbs
// loaded every RDMA device for containers has a verbs node, whatever was known of it before.
bool misses_nodes(const PoolDevice& device, const NodeFacts& node) {
  const auto has_verbs = [](const RdmaFacts& rdma) { return !rdma.uverbs.empty(); };
  return device.facts.visible_rdma_nodes() < device.rdma_nodes ||
         (node.verbs && std::none_of(device.facts.rdma.begin(), device.facts.rdma.end(), has_verbs));
}

Result<> check_device(const PoolDevice& device, const NodeFacts& node, std::set<std::string>& ids) {
  if (!ids.insert(device.id()).second) return refusal(Errc::invalid, device, "is in the request twice");
  if (device.rdma && device.facts.rdma.empty()) {
    return refusal(Errc::not_yet, device,
                   "its RDMA device is not in the host's RDMA namespace: it is still in a pod's, and the "
                   "kernel brings "
                   "it back when that pod is gone; try again")
        .with_id(ErrorId::device_not_in_host);
  }
  if (device.rdma && misses_nodes(device, node)) {
    return refusal(Errc::not_yet, device,
                   "its RDMA device has just returned to the host, or its driver is starting, and the kernel "
                   "has not made all of its device nodes yet: " +
                       std::to_string(device.facts.visible_rdma_nodes()) + " are there; try again")
        .with_id(ErrorId::device_not_in_host);
  }
  if (uses_vfio(device.facts) && device.facts.iommu_group.empty()) {
    return refusal(
               Errc::unsupported, device,
               "it is bound to vfio-pci but has no IOMMU group, so there is no /dev/vfio node to allocate")
        .with_id(ErrorId::no_iommu_group);
  }
  return {};
}

std::vector<std::string> allocated(const PoolDevice& device) {
  std::vector<std::string> out;
  for (const RdmaFacts& rdma : device.facts.rdma) {
    for (std::string& name : rdma_nodes(rdma)) {
      if (name != rdma.ucm) out.push_back(std::move(name));
    }
  }
  return out;
}

// With CDI a spec has the default folder until vfrail-cni knows better. Without, each device has a folder,
// and the container gets that of its first one: vfrail-cni writes the same into all.
void add_pod_files(const PodFileMounts& wanted, const NodeFacts& node, const std::vector<std::string>& ids,
                   Allocation& out) {
  if (!wanted.any()) return;
  for (const std::string& id : ids)
    out.edits_of[id].mounts = pod_mounts(default_folder(node.run_folder), wanted.nccl);
  out.edits.mounts = pod_mounts(device_files_folder(node.run_folder, ids.front()), wanted.nccl);
  // In kubelet's answer, over which the pod's own env wins; over that of a CDI spec it does not.
  if (wanted.ucx) out.edits.env.emplace("UCX_CONFIG_DIR", kPodMount);
}

// By each device's spec, or by the container's answer; a runtime mounts the same file twice without harm.
void add_check(const NodeFacts& node, Allocation& out) {
  if (node.check_program.empty()) return;
  const Mount mount{node.check_program, kCheckMount};
  for (auto& [device, edits] : out.edits_of) edits.mounts.push_back(mount);
  out.edits.mounts.push_back(mount);
}

// What another pod may use as well: nodes alone. The peers give a shared pool no environment, and the pod
// opens what it finds; a pod with one device of several gets its address.
Allocation share(const Pool& pool, const std::vector<PoolDevice>& devices, const NodeFacts& node) {
  Allocation out;
  NodeList nodes(pool.config.permissions);
  std::vector<std::string> ids;
  for (const PoolDevice& device : devices) {
    ids.push_back(device.id());
    out.edits_of.emplace(device.id(), own_edits(pool, device, node));
    nodes.add_all(out.edits_of.at(device.id()).nodes);
  }
  if (pool.config.unit == UnitKind::shared_one)
    out.edits.env.emplace(env_name(pool.config), joined(ids, ","));
  out.edits.nodes = std::move(nodes).take();
  add_check(node, out);
  return out;
}

}  // namespace

Result<Allocation> allocate(const Pool& pool, const std::vector<PoolDevice>& devices, const NodeFacts& node) {
  if (devices.empty()) return Error{Errc::invalid, 0, pool.resource() + ": the request has no device"};
  std::set<std::string> asked;
  for (const PoolDevice& device : devices) TRY(check_device(device, node, asked), pool.resource());
  if (shares(pool.config)) return share(pool, devices, node);

  Allocation out;
  NodeList nodes(pool.config.permissions);
  Json info = Json::object();
  std::vector<std::string> ids;
  for (const PoolDevice& device : devices) {
    ids.push_back(device.id());
    info.set(device.id(), info_entry(pool.config, device, node));
    out.edits_of.emplace(device.id(), own_edits(pool, device, node));
    nodes.add_all(out.edits_of.at(device.id()).nodes);
    if (device.facts.kind != FunctionKind::accelerator) out.files.push_back(device_info(pool, device));
    if (device.rdma || pool.config.pod_files.any())
      out.allocated_nodes.emplace(device.id(), device.rdma ? allocated(device) : std::vector<std::string>());
  }
  out.edits.env.emplace(env_name(pool.config), joined(ids, ","));
  out.edits.env.emplace(env_name(pool.config) + "_INFO", info.go_text());
  out.edits.nodes = std::move(nodes).take();
  add_pod_files(pool.config.pod_files, node, ids, out);
  add_check(node, out);
  return out;
}

}  // namespace vfrail::plugin
