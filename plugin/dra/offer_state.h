// OfferState: what of this node goes by claims, and whether the scheduler has it, in a file for the commands
// that run beside serve: inspect and doctor. Written at each change, removed when serve ends. On a tmpfs.
//
//   /run/vfrail/claims/offer    0600
#pragma once

#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct OfferState {
  std::string driver = {};
  std::string instance = {};  // of several serve at once: the uid of its pod; empty: the only one
  std::string socket = {};    // where vfrail-kube listens
  std::vector<std::string> resources = {};  // that go by claims
  std::string node = {};                    // the name of the node's pool; empty: not known yet
  bool published = false;
  std::string reason = {};  // why not
  std::string id = {};      // of that reason: "VF-BUSY"
  bool operator==(const OfferState&) const = default;

  bool has(const std::string& resource) const;
  // "published by vfrail.io", "not published by vfrail.io: the API server has not answered yet [VF-BUSY]".
  std::string text() const;
};

Result<> write_offer_state(const std::string& run_dir, const OfferState& state);
// No value: nothing goes by claims on this node, or serve does not run.
Result<std::optional<OfferState>> read_offer_state(const std::string& run_dir);
// Of that instance alone, where one is named: another may have written it since.
Result<> remove_offer_state(const std::string& run_dir, const std::optional<std::string>& instance = {});

}  // namespace vfrail::plugin
