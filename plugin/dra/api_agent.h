// ApiAgent: what `vfrail serve`, which has no token, asks of the Kubernetes API about ResourceClaims:
// `vfrail-kube node` answers it. An interface; holds nothing.
#pragma once

#include "common/container/claim_name.h"
#include "common/json.h"
#include "common/result.h"

#include <optional>

namespace vfrail::plugin {

class ApiAgent {
 public:
  ApiAgent() = default;
  ApiAgent(const ApiAgent&) = delete;
  ApiAgent& operator=(const ApiAgent&) = delete;
  virtual ~ApiAgent() = default;

  // The claim as the API server has it. No value: it is not there, or another one of that name is. Waits at
  // most 10 s; on any thread.
  virtual Result<std::optional<Json>> claim(const ClaimName& name) = 0;
  // Entries of status.devices: of our driver, and no others are changed. Errc::not_found: there is no such
  // claim any more. Waits as claim() does.
  virtual Result<> set_status(const ClaimName& name, const Json& devices) = 0;
};

}  // namespace vfrail::plugin
