// Claims: reads ResourceClaims and writes our entries of their status, each with a deadline. On any thread.
// Decides nothing about devices.
#pragma once

#include "common/container/claim_name.h"
#include "common/json.h"
#include "common/log.h"
#include "common/result.h"
#include "plugin/kube/client/api_client.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace vfrail::kube {

// The field manager of this node's entries: of the characters and the length that the API server takes.
std::string field_manager(const std::string& driver, const std::string& node);
// Whether `devices` are entries of status.devices of that driver alone.
Result<> check_entries(const Json& devices, const std::string& driver);
// What is applied to the claim's status.
Json status_fields(const ClaimName& claim, const Json& devices);

// "Not there" is a value and no error: who asks forgets the claim.
struct FoundClaim {
  Json claim;               // without metadata.managedFields
  std::string absent = {};  // why there is none: it was deleted, maybe created again
};

class Claims {
 public:
  Claims(const ClusterAccess& access, const std::string& driver, const std::string& node);
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;
  ~Claims();

  // Ends what is under way, and what is still asked, with an error.
  void stop() { stop_.request_stop(); }

  Result<FoundClaim> get(const ClaimName& claim);
  // `devices` have passed check_entries(). The value is FoundClaim::absent.
  Result<std::string> set_status(const ClaimName& claim, const Json& devices);

 private:
  class Lent;
  Result<Lent> client();

  const std::string manager_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<ApiClient>> idle_;
};

}  // namespace vfrail::kube
