// NodeReader: the pools of the present node, for the daemon's scans. Owns what the last scan read, so that
// the next one need read only what has changed; never decides when to scan.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/pools.h"

#include <chrono>
#include <optional>
#include <string>

namespace vfrail::plugin {

class NodeReader {
 public:
  // `host` as for scan(), null or alive for as long as this; `cni_state_dir` as for add_unclean(). Below
  // `provision_dir` is the progress of `vfrail provision`.
  NodeReader(SysRoot sys, Kernel* host, std::string cni_state_dir, std::string provision_dir)
      : sys_(std::move(sys)),
        host_(host),
        cni_state_dir_(std::move(cni_state_dir)),
        provision_dir_(std::move(provision_dir)) {}

  // Reads what `changed` names and what every rescan reads; the whole node at the first call, and after one
  // that failed.
  Result<Pools> read(const Config& config, const Changed& changed);

 private:
  Result<Inventory> read_inventory(const Changed& changed);
  std::optional<std::chrono::seconds> withhold(const VfsConfig& config, Inventory& inventory) const;

  const SysRoot sys_;
  Kernel* const host_;
  const std::string cni_state_dir_;
  const std::string provision_dir_;
  std::optional<Inventory> last_;  // as scan() returned it; none: it failed
};

}  // namespace vfrail::plugin
