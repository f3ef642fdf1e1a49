// ContainerProcess: the process that a runtime's state names, held so that no other can take its place, and
// whether it is in its container. Changes nothing of it.
#pragma once

#include "cni/hook/memlock.h"
#include "common/result.h"
#include "common/unique_fd.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail::cni {

// linux.namespaces of a bundle's config.json.
struct ContainerNamespace {
  std::string file;  // below /proc/PID/ns: "mnt"
  std::string path;  // of an existing one; empty: the container has one of its own
  bool operator==(const ContainerNamespace&) const = default;
};
// Those that a process has from the beginning to its end.
Result<std::vector<ContainerNamespace>> parse_namespaces(std::string_view config);

class ContainerProcess {
 public:
  // Errc::denied if the process is not in the namespaces that the container's config.json says, or, where
  // that cannot be read, in the mount namespace of this process.
  static Result<ContainerProcess> find(const OciState& state);
  // False: it has ended, so that its number can be another's by now. Kernels before 5.3 cannot say it.
  bool is_alive() const;

 private:
  explicit ContainerProcess(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// "container ID (process 4711)".
std::string container_text(const OciState& state);

}  // namespace vfrail::cni
