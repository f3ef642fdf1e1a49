// CdiChoice: whether device nodes go by CDI on this node, and to which folder specs are written: what the
// flags say, as far as the container runtime's configuration lets it work.
#pragma once

#include "common/node/sys_root.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace vfrail::plugin {

enum class CdiUse : uint8_t {
  off,
  on,         // unless the runtime certainly does not take it
  automatic,  // if the runtime certainly takes it
};
// "auto", and what Go's flags take for true and false. No value: anything else.
std::optional<CdiUse> parse_cdi_use(std::string word);

struct CdiChoice {
  std::string folder;    // of specs; empty: device nodes go by kubelet
  std::string why;       // "/host/etc/containerd/config.toml enables CDI"
  bool refused = false;  // CDI was asked for, and cannot work
};

// Whether specs can be written there, and, with `seen`, whether the runtime is seen to read them; an error's
// text otherwise.
using CdiFolderFault = std::function<std::string(const std::string& folder, bool seen)>;

// `folder`: of the option; empty: the runtime's.
CdiChoice choose_cdi(CdiUse use, const std::string& folder, const SysRoot& sys, const CdiFolderFault& fault);

// Why that folder is not the host's: in a container it is one only if it is mounted. Empty: it is.
std::string not_of_host(const std::string& folder, const SysRoot& sys);

}  // namespace vfrail::plugin
