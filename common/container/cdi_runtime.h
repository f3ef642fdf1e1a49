// Whether the node's container runtime accepts CDI device names, from the configuration files of the
// runtimes, as far as they can be read below the root (manifests/README.md says how to mount them for the
// device plugin). Talks to no runtime: its socket is root on the node. Pure except for those reads.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace vfrail {

enum class CdiSupport : uint8_t { unknown, yes, no };

struct CdiRuntime {
  CdiSupport support = CdiSupport::unknown;
  std::string why;  // "etc/containerd/config.toml has enable_cdi = false"
};

// containerd: CDI came with 1.7, behind enable_cdi, which is false by default; since 2.0, whose configuration
// has version 3, it is true by default. CRI-O: always, since 1.23.
Result<CdiRuntime> find_cdi_runtime(const SysRoot& sys);

// Why no container of this node can get what a CDI spec gives it. Empty: it can, or it is not certain,
// because a configuration cannot be read or kubelet may use another runtime than the one that has it.
std::string find_missing_cdi(const SysRoot& sys);

// Of the text of containerd's config.toml. A file that it imports can have what it says otherwise.
CdiSupport cdi_support_of_containerd(std::string_view config);

}  // namespace vfrail
