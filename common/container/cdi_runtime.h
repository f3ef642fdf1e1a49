// Whether the node's container runtime accepts CDI device names, and where it reads their specs, from the
// configuration files of the runtimes, as far as they can be read below the root (manifests/README.md says
// how they are mounted for the device plugin). Talks to no runtime: its socket is root on the node. Pure
// except for those reads.
#pragma once

#include "common/container/runtime_config.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// Where CDI specs are, the folder that counts most last, unless a runtime's configuration says otherwise.
inline constexpr const char* kCdiFolders[] = {"etc/cdi", "var/run/cdi"};

enum class CdiSupport : uint8_t { unknown, yes, no };

struct CdiRuntime {
  CdiSupport support = CdiSupport::unknown;
  std::string why;  // "/etc/containerd/config.toml has enable_cdi = false"
  // Where it reads specs, the one that counts most last; empty: not known. On the host, without the root.
  std::vector<std::string> folders = {};
  bool is_kubelets = false;  // the file is of a distribution whose kubelet has no other runtime
  // An older release reads the same configuration and ignores that part: containerd 1.6, enable_cdi.
  bool may_be_ignored = false;

  // "/run/cdi" is "/var/run/cdi".
  bool reads(std::string_view folder) const;
};

// A container runtime's configuration on this node.
struct FoundRuntime {
  std::string path;  // of its first file, below the root
  RuntimeConfig config;
  bool is_crio = false;
  bool is_kubelets = false;  // as of CdiRuntime
};
// Those that can be read; of a distribution with a runtime of its own that one alone.
Result<std::vector<FoundRuntime>> find_runtimes(const SysRoot& sys);

// containerd: CDI came with 1.7, behind enable_cdi, which is false by default; since 2.0, whose configuration
// has version 3, it is true by default. CRI-O: always, since 1.23. Drop-ins and imports count; where two
// runtimes have a configuration that differs, it is not known which one kubelet uses.
Result<CdiRuntime> find_cdi_runtime(const SysRoot& sys);

// Why no container of this node can get what the CDI spec at `spec` gives it: the runtime has no CDI, or does
// not read that folder. Empty: it can, or it is not certain, because a configuration cannot be read or
// kubelet may use another runtime than the one that has it.
std::string find_missing_cdi(const SysRoot& sys, const std::string& spec);

// `folders`, and those of the runtime's configuration, which is read if `path` is in none of them.
std::vector<std::string> with_folders_of_runtime(const std::string& path, std::vector<std::string> folders,
                                                 const SysRoot& sys);

}  // namespace vfrail
