// Network configurations before a pod needs them: `vfrail-cni check-network` and `vfrail check-config`. Pure.
#pragma once

#include "common/errors/error_id.h"
#include "common/json.h"
#include "common/result.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::cni {

inline constexpr size_t kMaxNetworksBytes = size_t{16} << 20;

struct NetworkRemark {
  enum class Kind : uint8_t { note, warning, error };  // what ADD would ignore, and what it would refuse
  Kind kind = Kind::note;
  std::string plugin;  // "plugins[1]"; empty: the configuration is one plugin
  std::string text;
  ErrorId id = ErrorId::network_config;

  // With the plugin before it.
  std::string full_text() const { return plugin.empty() ? text : plugin + ": " + text; }
};

// A configuration with one plugin or a list of them, as in /etc/cni/net.d or in spec.config. Checked are the
// plugins of these types; there is a remark on each plugin. `has_resource`: Multus adds the device.
std::vector<NetworkRemark> check_network(const Json& config, bool has_resource,
                                         const std::set<std::string>& types);

struct NetworkReport {
  std::string text;  // a line for each configuration, and one for each thing that is wrong
  bool all_well = true;
};

// `text` is JSON: a configuration, a NetworkAttachmentDefinition, or a List of them, as `kubectl get -o json`
// prints it. Errors and warnings are not all well. Errc::invalid: it is nothing of that.
Result<NetworkReport> check_networks(std::string_view text, const std::set<std::string>& types);

}  // namespace vfrail::cni
