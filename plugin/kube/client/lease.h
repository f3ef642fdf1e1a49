// Lease: which of several replicas acts (coordination.k8s.io/v1). One call a turn; no thread, no clock of its
// own but what is passed.
#pragma once

#include "common/result.h"
#include "plugin/kube/client/api_client.h"

#include <chrono>
#include <optional>
#include <string>

namespace vfrail::kube {

class Lease {
 public:
  using Steady = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kDuration{15};  // as leaderelection of client-go has it
  static constexpr std::chrono::seconds kRenewal{2};
  static constexpr std::chrono::seconds kGiveUp{10};  // without a renewal, before others can take it

  Lease(ObjectName object, std::string holder) : object_(std::move(object)), holder_(std::move(holder)) {}

  // Takes or renews it if that is due; whether it is ours until the next call, which has to come within
  // kRenewal. An error leaves it ours until kGiveUp after the last renewal: see held().
  Result<bool> turn(ApiClient& client, Steady::time_point now);
  bool held(Steady::time_point now) const;
  // Leaves it to others at once.
  Result<> release(ApiClient& client);

 private:
  Result<bool> take(Result<Json> written, Steady::time_point now);

  const ObjectName object_;
  const std::string holder_;
  std::optional<Steady::time_point> renewed_;
  // Expiry is counted by our own clock since its last change that we saw: clocks of nodes differ.
  std::string seen_version_;
  Steady::time_point seen_at_{};
};

}  // namespace vfrail::kube
