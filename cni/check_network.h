// Network configurations before a pod needs them: `vfrail-cni check-network`. Pure.
#pragma once

#include "common/result.h"

#include <set>
#include <string>
#include <string_view>

namespace vfrail::cni {

inline constexpr size_t kMaxNetworksBytes = size_t{16} << 20;

struct NetworkReport {
  std::string text;  // a line for each configuration, and one for each thing that is wrong
  bool all_well = true;
};

// `text` is JSON: a configuration or a list of plugins, as in /etc/cni/net.d, a NetworkAttachmentDefinition,
// or a List of them, as `kubectl get -o json` prints it. Checked are the plugins of these types. What ADD
// would refuse is an error, what it would ignore a warning; neither is all well. Errc::invalid: it is nothing
// of that.
Result<NetworkReport> check_networks(std::string_view text, const std::set<std::string>& types);

}  // namespace vfrail::cni
