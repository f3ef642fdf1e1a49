// ContainerEdits: what a container gets for its devices, for any front end (kubelet's Allocate, a DRA driver)
// and by any way (kubelet's answer, a CDI spec). A value.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// A character device: its path on the host, and in the container.
struct DeviceNode {
  std::string host_path;
  std::string container_path;
  std::string permissions;  // "rw"
  bool operator==(const DeviceNode&) const = default;
};

// A bind mount of a file or folder of the host.
struct Mount {
  std::string host_path;
  std::string container_path;
  bool read_only = true;
  bool operator==(const Mount&) const = default;
};

// A program of the host that the container runtime runs. kubelet's answer has no field for one.
struct Hook {
  std::string name;  // when, as in the OCI runtime specification: "createContainer"
  std::string path;
  std::vector<std::string> args = {};
  std::vector<std::string> env = {};  // "NAME=value"
  std::optional<std::chrono::seconds> timeout = {};
  bool operator==(const Hook&) const = default;
};

struct ContainerEdits {
  std::map<std::string, std::string> env = {};
  std::vector<DeviceNode> nodes = {};
  std::vector<Mount> mounts = {};
  std::vector<Hook> hooks = {};
  // Names of CDI devices whose specs carry further edits: "nvidia.com/net-pci=0000:03:02.1". A spec itself
  // has none.
  std::vector<std::string> cdi_devices = {};
  bool operator==(const ContainerEdits&) const = default;
};

}  // namespace vfrail
