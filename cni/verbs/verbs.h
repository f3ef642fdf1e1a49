// The verbs of CNI, one file each, over a World (cni/node/world.h), and what STATUS answers.
#pragma once

#include "cni/conf/request.h"
#include "cni/conf/result.h"
#include "cni/node/world.h"
#include "common/errors/error_id.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

Result<AddResult> add(const Request& request, World& world);
Result<> del(const Request& request, World& world);
Result<> check(const Request& request, World& world);
Result<> gc(const Request& request, World& world);

// Each text names what is wrong and the remedy. Both empty: ADD would succeed.
struct StatusAnswer {
  std::vector<std::string> missing;   // what ADD lacks: code 50
  std::vector<std::string> degraded;  // what attached pods have lost: code 51
  std::optional<ErrorId> id;          // of the first of them
};
Result<StatusAnswer> status(const Request& request, World& world);

}  // namespace vfrail::cni
