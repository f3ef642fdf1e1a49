// Progress: how far `vfrail provision` is with a PF: why its VFs must not be allocated yet, or why they are
// not as the configuration wants them. provision writes it, serve and the commands read it. A file for each
// PF in FOLDER/progress. Before provision has run at all, serve writes since when it waits, in
// FOLDER/awaited.
#pragma once

#include "common/ids.h"
#include "common/result.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

inline constexpr const char* kProvisionFolder = "provision";  // below /run/vfrail

enum class ProgressState : uint8_t {
  awaited,   // provision has not begun with it since the node's start
  running,   // it writes
  draining,  // its VFs are to be removed as soon as no pod has one
  done,
  refused,
  needs_reboot,
  failed,
};
const char* name_of(ProgressState state);  // "needs-reboot"

// For so long, since it was written, a state keeps devices from being allocated. A provision that waits
// writes it anew, so what one that was killed has written ends. Kubelet forgets a resource whose plugin does
// not come back after five minutes (endpointStopGracePeriod of its device manager); this is before that.
inline constexpr std::chrono::seconds kProvisionPatience{240};

struct Progress {
  ProgressState state = ProgressState::awaited;
  std::string entry;          // "vfs[0]"
  std::string text;           // why it is refused, failed, ...
  std::chrono::seconds at{};  // CLOCK_BOOTTIME

  // Since then its VFs may be allocated, whatever the state says; no value: they may at any time.
  std::optional<std::chrono::seconds> withheld_until() const;
  bool operator==(const Progress&) const = default;
};

std::chrono::seconds boot_time();  // CLOCK_BOOTTIME of now

// Where provision writes, of `folder`.
std::string progress_folder(const std::string& folder);

class ProgressRecords {
 public:
  // `folder`: /run/vfrail/provision. `boot`: of now (boot_id()); a record of another boot counts as none.
  ProgressRecords(std::string folder, std::string boot)
      : folder_(std::move(folder)), boot_(std::move(boot)) {}

  // provision's, else serve's. One that cannot be read as a record counts as none.
  Result<std::optional<Progress>> load(const PciAddress& pf) const;
  Result<> save(const PciAddress& pf, const Progress& progress) const;  // `awaited`: serve's
  // PFs of which something is written, in this boot or another.
  Result<std::vector<PciAddress>> known() const;
  Result<> remove(const PciAddress& pf) const;  // provision's and serve's

 private:
  std::string folder_;
  std::string boot_;
};

}  // namespace vfrail::plugin
