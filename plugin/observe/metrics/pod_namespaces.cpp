#include "plugin/observe/metrics/pod_namespaces.h"

#include "common/netlink/netlink_kernel.h"
#include "common/node/sys_root.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace vfrail::plugin {

namespace {

namespace fs = std::filesystem;

// Kubelet's usual limit is 110 pods, the largest that providers allow 500.
constexpr size_t kMaxNamespaces = 1024;
constexpr uint32_t kMaxPortsOfPod = 4;

using Ports = std::vector<RdmaPortCounters>;

// Bytes and packets of most drivers are in sysfs alone: netlink has those of hw_counters
// (nldev_stat_get_default_counters()).
Ports read_ports(Kernel& kernel, const RdmaDevice& device) {
  const auto sysfs = kernel.sysfs();
  if (sysfs && *sysfs && device.has_sound_name()) {
    Ports out = read_rdma_counters(DeviceFolder(SysRoot(**sysfs).at("class/infiniband/" + device.name)), "",
                                   device.name);
    std::erase_if(out, [](const RdmaPortCounters& port) { return port.counters.empty(); });
    if (!out.empty()) return out;
  }
  Ports out;
  for (uint32_t port = 1; port <= kMaxPortsOfPod; ++port) {
    auto counters = kernel.rdma_counters(device.index, port);
    if (!counters) break;
    out.push_back({.device = device.name, .port = port, .counters = *std::move(counters)});
  }
  return out;
}

}  // namespace

// An error is missing in the answer: a namespace may be ending.
void read_pod_namespace(Kernel& kernel, PodNamespaces& out) {
  if (const auto links = kernel.link_traffic()) {
    for (const LinkTraffic& link : *links) {
      if (!link.parent_device.empty()) out.netdevs.emplace(link.parent_device, link.traffic);
    }
  }
  const auto devices = kernel.rdma_devices();
  if (!devices) return;
  for (const RdmaDevice& device : *devices) {
    // In shared mode every namespace sees all of them.
    if (out.rdma.contains(device.name)) continue;
    Ports ports = read_ports(kernel, device);
    if (!ports.empty()) out.rdma.emplace(device.name, std::move(ports));
  }
}

PodNamespaces read_pod_namespaces(const std::string& root) {
  PodNamespaces out;
  const auto own = Netns::current();
  std::error_code failed;
  fs::directory_iterator entries(SysRoot(root).path("run/netns"), failed);
  if (!own) return out;
  // A node on which no pod has been started yet has no such folder.
  out.in_reach = !failed || (root == "/" && failed == std::errc::no_such_file_or_directory);
  if (failed) return out;
  size_t left = kMaxNamespaces;
  for (; entries != fs::directory_iterator() && left > 0; --left) {
    auto target = Netns::open(entries->path());
    const bool is_pod = target && *target && (*target)->id() != own->id();
    if (is_pod) {
      const auto kernel = NetlinkKernel::open(std::move(**target));
      if (kernel)
        read_pod_namespace(**kernel, out);
      else if (kernel.error().code == Errc::denied)
        out.in_reach = false;
    }
    entries.increment(failed);
    if (failed) break;
  }
  return out;
}

}  // namespace vfrail::plugin
