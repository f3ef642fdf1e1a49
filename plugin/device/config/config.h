// Config: what the administrator configured, whatever format it was written in
// (plugin/device/config/formats).
#pragma once

#include "common/errors/warning.h"
#include "common/result.h"
#include "plugin/device/config/vfs.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

// One selector object. Fields are ANDed, the values of a field ORed, an empty list selects everything.
struct Selector {
  // The fields that are lists, by their keys: "vendors" -> {"15b3"}. Unset ones are missing.
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
  bool is_rdma = false;           // select RDMA-capable functions, and allocate their device nodes
  bool need_vhost_net = false;    // no filter: allocate /dev/vhost-net and /dev/net/tun
  std::string vdpa_type;          // "", "virtio" or "vhost"
  std::optional<bool> is_pf;      // true: PFs only; false: no PFs
  std::vector<Selector> none_of;  // `not`: a function that one of these matches is not selected

  // Empty if it is not set.
  const std::vector<std::string>& list(std::string_view key) const;
  bool operator==(const Selector&) const = default;
};

// What to do with a function that the host itself uses (design 1.3).
enum class HostUse : uint8_t {
  refuse,  // also those that merely have host addresses are left out
  warn,    // default: routes and memberships are left out, mere addresses are advertised with a warning
  allow,   // everything is advertised
};

// Which kind of function a resource consists of.
enum class DeviceType : uint8_t { net_device, aux_net_device, accelerator };
const char* type_name(DeviceType type);  // "netDevice"

// What a pod that asks for one unit of a resource gets.
enum class UnitKind : uint8_t {
  device,      // one device, which no other pool has
  shared,      // every device of the pool, as in k8s-rdma-shared-dev-plugin
  shared_one,  // one device of the pool, the least loaded
  bundle,      // one device of each rail (PF), in rail order
};

// Which devices GetPreferredAllocation proposes.
enum class Preference : uint8_t {
  none,         // kubelet chooses
  numa,         // as few NUMA nodes as possible
  pcie,         // closest to each other and to GPUs: same PCIe switch, root, NUMA node
  pack,         // as few PFs as possible
  spread,       // as many PFs as possible, evenly
  distinct_pf,  // no two of one PF, as long as that is possible
  rail,         // distinct_pf, in the order of the PFs' addresses
};

// What makes a device unhealthy beside its absence. Each is about the port behind the device, never about a
// netdev that is merely down or in a pod.
struct HealthPolicy {
  bool port = true;      // InfiniBand: the physical port's state
  bool carrier = false;  // Ethernet: the PF's carrier
  bool guid = false;     // InfiniBand VFs: no GUID is set
  bool devlink = true;   // a devlink health reporter of the PF is in state "error"
  // The configuration says so. Where devlink cannot be asked, only that is worth a warning: by default it is
  // asked where it can be.
  bool devlink_demanded = false;
};

// Which files about its networks a container gets (common/container/pod_folder.h). All false: none.
struct PodFileMounts {
  bool nccl = false;  // /etc/nccl.conf
  bool ucx = false;   // UCX_CONFIG_DIR names the folder

  bool any() const { return nccl || ucx; }
  bool operator==(const PodFileMounts&) const = default;
};

struct ResourceConfig {
  std::string prefix;  // "nvidia.com"
  std::string name;    // "hostdev"
  std::string socket;  // file name of its socket; empty: PREFIX_NAME.sock
  DeviceType device_type = DeviceType::net_device;
  UnitKind unit = UnitKind::device;
  uint32_t units = 0;                    // shared and shared_one: how many
  std::string permissions = "rw";        // of device nodes: "rw", "rwm"
  bool iommufd = false;                  // also allocate /dev/iommu and the vfio character device
  std::vector<std::string> extra_nodes;  // "/dev/foo"; "cxi/*": /dev/X for each X in the device's folder cxi
  PodFileMounts pod_files;
  bool mount_check = false;  // containers get vfrail-check
  // What vfrail-cni's hook lets containers lock: bytes, "unlimited", or empty for the container's memory
  // limit. No value: no hook.
  std::optional<std::string> memlock;
  Preference preference = Preference::none;
  HealthPolicy health;
  bool exclude_topology = false;
  bool register_empty = false;  // kubelet gets it even before it has its first device
  HostUse host_use = HostUse::warn;
  bool set_links_up = false;        // interfaces that are administratively down are set up, once
  std::vector<Selector> selectors;  // at least one; the first that matches a device decides its options
  // additionalInfo: "*" or a PCI address -> key -> value. No value: the key is missing, which a container can
  // distinguish from an empty object.
  std::optional<std::map<std::string, std::map<std::string, std::string>>> additional_info;

  std::string resource() const { return prefix + "/" + name; }  // "nvidia.com/hostdev"
};

// Whether pods share the devices of such a resource, which then stay where they are.
bool shares(const ResourceConfig& resource);

// An entry of the file that is not served because of an error.
struct SkippedEntry {
  std::string resource;  // "nvidia.com/hostdev"; empty if its name cannot be read
  std::string reason;  // with the place: "FILE: resourceList[1] (nvidia.com/hostdev): selectors.vendors: ..."
  ErrorId id;

  std::string text() const;  // the reason, and behind it the id
};

struct Config {
  // periodicUpdateInterval, in seconds; 0: no periodic rescan. No value if the file has none.
  std::optional<uint32_t> rescan_seconds;
  std::vector<ResourceConfig> resources;  // in the order of the file: the first that matches a device has it
  std::vector<SkippedEntry> skipped;      // the others are served, as sriov-network-device-plugin does
  // Unknown keys, and values that can never match. Those with the id config_mistake are errors for `vfrail
  // check-config`: what makes a selection wider than it was written, or empty for ever. `serve` accepts them,
  // as the peers do.
  std::vector<Warning> warnings;
  std::vector<std::string> notes;  // what was taken, where there was a choice
  VfsConfig vfs;                   // what `vfrail provision` is to make
};

inline constexpr const char* kPeersPrefix = "intel.com";
// Of kubelet, unless --kubelet-root names another folder.
inline constexpr const char* kKubeletRoot = "/var/lib/kubelet";

// The socket's file name in kubelet's folder: "nvidia.com_hostdev.sock", or the one that the plugin whose
// format the configuration has would use ("hca_a.sock").
std::string socket_name(const ResourceConfig& resource);
// The environment variable with a container's devices: "PCIDEVICE_NVIDIA_COM_HOSTDEV".
std::string env_name(const ResourceConfig& resource);
// A unix socket's path has at most 107 bytes (sun_path, unix(7)); the folder counts.
Result<> check_socket_path(const ResourceConfig& resource, std::string_view folder);

}  // namespace vfrail::plugin
