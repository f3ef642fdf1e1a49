// Config: what the administrator asked for, parsed from sriov-network-device-plugin's `resourceList` format.
// parse_config() is pure: text in, Config or one clear error out. It never looks at the node.
#pragma once

#include "common/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// One selector object. Fields are ANDed, the values of a field ORed, an empty list selects everything.
struct Selector {
  std::vector<std::string> vendors;  // "15b3"
  std::vector<std::string> devices;  // "101e"
  std::vector<std::string> drivers;
  std::vector<std::string> pci_addresses;
  std::vector<std::string> acpi_indexes;
  std::vector<std::string> pf_names;      // "ens785f0#0-3,7"
  std::vector<std::string> root_devices;  // "0000:86:00.0#0-3"
  std::vector<std::string> link_types;    // "ether", "infiniband"
  std::vector<std::string> ddp_profiles;
  std::vector<std::string> pkeys;  // "0x8001"
  bool is_rdma = false;            // select RDMA-capable functions, and hand out their device nodes
  bool need_vhost_net = false;     // no filter: hand out /dev/vhost-net and /dev/net/tun
  std::string vdpa_type;           // "", "virtio" or "vhost"
};

// What to do with a function that the host itself uses (design 1.3).
enum class HostUse : uint8_t {
  refuse,  // also those that merely have host addresses are left out
  warn,    // default: routes and memberships are left out, mere addresses are offered with a warning
  allow,   // everything is offered
};

struct ResourceConfig {
  std::string prefix;  // "nvidia.com"
  std::string name;    // "hostdev"
  bool exclude_topology = false;
  HostUse host_use = HostUse::warn;
  std::vector<Selector> selectors;  // at least one; the first that matches a device decides its options
  // additionalInfo: "*" or a PCI address -> key -> value.
  std::map<std::string, std::map<std::string, std::string>> additional_info;

  std::string resource() const { return prefix + "/" + name; }  // "nvidia.com/hostdev"
};

struct Config {
  std::vector<ResourceConfig> resources;  // in the order of the file: the first that matches a device has it
  std::vector<std::string> warnings;      // unknown keys, mostly
};

struct ConfigOptions {
  std::string file;                          // for messages
  std::string default_prefix = "intel.com";  // sriov-network-device-plugin's default
  bool strict = false;                       // unknown keys are errors
};

// Errc::invalid with "FILE: resourceList[1] (nvidia.com/hostdev): selectors.vendors: ...".
Result<Config> parse_config(std::string_view text, const ConfigOptions& options);

// The socket's file name in kubelet's folder: "nvidia.com_hostdev.sock".
std::string socket_name(const ResourceConfig& resource);
// The environment variable with a container's devices: "PCIDEVICE_NVIDIA_COM_HOSTDEV".
std::string env_name(const ResourceConfig& resource);
// A unix socket's path has at most 107 bytes (sun_path, unix(7)); the folder counts.
Result<> check_socket_path(const ResourceConfig& resource, std::string_view folder);

}  // namespace vfrail
