// DeviceNode: a character device that a container gets: where it is on the host, where in the container.
#pragma once

#include <string>

namespace vfrail {

struct DeviceNode {
  std::string host_path;
  std::string container_path;
  std::string permissions;  // "rw"
  bool operator==(const DeviceNode&) const = default;
};

}  // namespace vfrail
