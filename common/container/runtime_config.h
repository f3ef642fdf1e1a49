// RuntimeConfig: what a container runtime's configuration says of CDI: one file of TOML, and containerd's or
// CRI-O's files together. Knows the few lines that are about CDI, and decides nothing: cdi_runtime.h does.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// One file.
struct RuntimeFile {
  int version = 0;            // of containerd's format; 0: none
  bool has_cri = false;       // a table of containerd's CRI plugin
  bool cri_disabled = false;  // in disabled_plugins
  std::optional<bool> enable_cdi = std::nullopt;
  std::optional<std::vector<std::string>> cdi_spec_dirs = std::nullopt;
  std::vector<std::string> imports = {};
};
RuntimeFile parse_runtime_file(std::string_view text);
// A file that parse_runtime_file() reads as this, but for its imports: what it says of CDI, and nothing else.
std::string format_runtime_file(const RuntimeFile& file);

// The files of one runtime, the later one first where both say something.
struct RuntimeConfig {
  std::string file = {};  // the first one, absolute: "/host/etc/containerd/config.toml"
  RuntimeFile all = {};   // merged; `imports` is empty
  // Why a part of it is not known: an import that is not here to be read, or a table that one file has and a
  // later one too, which containerd before 2.1 takes in its place. Empty: nothing.
  std::string unknown = {};
};

// No value where there is no such file. `main` is below the root.
Result<std::optional<RuntimeConfig>> read_containerd_config(const SysRoot& sys, const std::string& main);
inline constexpr const char* kCrioConfig = "etc/crio/crio.conf";
// etc/crio/crio.conf and what is in etc/crio/crio.conf.d. No value: none of them is there.
Result<std::optional<RuntimeConfig>> read_crio_config(const SysRoot& sys);

}  // namespace vfrail
