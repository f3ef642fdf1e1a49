// SharedSwitch: which shared pools go by claims. One begins with kubelet's device plugin, and stays there
// until the API server is known to keep devices that several claims can have and no pod has a share by the
// device plugin: never is one name served both ways. What was decided is in a file, so that neither a restart
// nor an update of the plugin moves a pool. On a tmpfs: after a boot no pod has anything.
//
//   /run/vfrail/claims/shared-pools    0600
#pragma once

#include "common/container/claim_record.h"
#include "common/errors/warning.h"
#include "common/log.h"
#include "common/result.h"
#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/published_pool.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

// Whether the API server keeps allowMultipleAllocations.
enum class Sharing : uint8_t { unknown, kept, dropped };

// How pods get a shared pool.
struct SharedWay {
  bool by_claims = false;
  std::string reason = {};  // why it is not as it is meant to be: by claims, where they can share
  bool operator==(const SharedWay&) const = default;
};

struct SharedFacts {
  Sharing sharing = Sharing::unknown;
  bool held_known = false;  // kubelet has answered since
  size_t held = 0;          // shares that pods have by the device plugin
  size_t claimed = 0;       // by claims
};

// Pure.
SharedWay decide(const SharedFacts& facts, const SharedWay& before);

class SharedSwitch {
 public:
  // Reads what was decided before. `log` outlives this.
  SharedSwitch(std::string run_dir, Log& log);

  // Pools that are not shared go by claims always.
  bool by_claims(const ResourceConfig& resource) const;
  // A shared pool is with the device plugin where claims could share it.
  bool is_waiting() const { return is_waiting_; }

  // `held` is kubelet's last answer, null before the first. True: a pool goes another way now.
  bool follow(const std::vector<PublishedPool>& pools, Sharing sharing, const DevicesInUse* held,
              const std::vector<ClaimRecord>& claims);

 private:
  void adopt();
  bool write();

  const std::string run_dir_;
  Log& log_;
  std::map<std::string, SharedWay> ways_;  // by resource
  bool is_waiting_ = false;
};

// On a node without claims: what was decided holds no more.
Result<> forget_shared_ways(const std::string& run_dir);

// Why shared pools are with the device plugin where this node's others go by claims: for `vfrail inspect`.
// Nothing if that was never decided here.
std::vector<Warning> shared_pool_notes(const std::string& run_dir);

}  // namespace vfrail::plugin
