// NodeClaims: the claims that are prepared on this node, as they were when they were read last. Logs what
// cannot be read, once.
#pragma once

#include "common/container/claim_record.h"
#include "common/errors/warning.h"
#include "common/log.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace vfrail::plugin {

class NodeClaims {
 public:
  // `log` outlives it.
  NodeClaims(std::string run_dir, Log& log) : run_dir_(std::move(run_dir)), log_(log) {}

  void read();
  const std::vector<ClaimRecord>& records() const { return records_; }
  // Units of a resource that pods have, each alone.
  std::set<std::string> units_of(const std::string& resource) const;

 private:
  const std::string run_dir_;
  Log& log_;
  std::vector<ClaimRecord> records_;
  std::vector<Warning> complaints_;  // of the last read
};

}  // namespace vfrail::plugin
