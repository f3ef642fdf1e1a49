// `vfrail provision`: makes the VFs that `vfs` of the configuration wants, and keeps those that are there.
#pragma once

#include "common/container/allocated_nodes.h"
#include "plugin/admin/report/pods.h"
#include "plugin/device/config/config.h"

#include <string>

namespace vfrail::plugin {

struct ProvisionOptions {
  std::string root = "/";
  std::string kubelet_root = kKubeletRoot;
  std::string config_file;
  std::string resource_prefix = kPeersPrefix;
  std::string run_dir = kRunFolder;
  bool dry_run = false;
  bool watch = false;  // until TERM or INT: again after each event
  bool json = false;
};

// Beside those of every command (console/exit.h).
enum class ProvisionExit : uint8_t { needs_reboot = 3, refused = 4 };
inline constexpr const char* kProvisionExits =
    "Exit codes: 0 done, or nothing to do (the last line says which); 1 failed; 2 wrong usage or\n"
    "configuration; 3 a setting of the firmware is needed and a reboot, the message has the command;\n"
    "4 refused: VFs are in use, or the host needs the PF; run it again later. Of several the first of\n"
    "1, 3, 4.";

int provision(const ProvisionOptions& options, const AskKubelet& ask_kubelet);
// provision() with `watch`.
int provision_watch(const ProvisionOptions& options, const AskKubelet& ask_kubelet);

}  // namespace vfrail::plugin
