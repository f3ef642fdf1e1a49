// parse_config(): the configuration from the peers' formats: sriov-network-device-plugin's `resourceList`,
// k8s-rdma-shared-dev-plugin's `configList` (a file may have both), and the `mode` of
// k8s-rdma-sriov-dev-plugin and its descendants; as they are, or in the Kubernetes objects that carry them
// (plugin/documents). Pure: text in, Config or one clear error out. It never reads the node.
#pragma once

#include "common/result.h"
#include "plugin/device/config/config.h"
#include "plugin/documents/documents.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

struct ConfigOptions {
  std::string file;  // for messages
  // sriov-network-device-plugin's. The resources of SriovNetworkNodePolicies have then their operator's.
  std::string default_prefix = kPeersPrefix;
  bool strict = false;             // unknown keys are errors, and a faulty entry refuses the file
  std::string socket_folder = {};  // a resource whose socket's path is too long there is faulty
};

// The prefix of the resources of sriov-network-operator's objects: its own, unless --resource-prefix gives
// one.
std::string prefix_of_operator(const std::string& default_prefix);

// Errc::invalid with "FILE: resourceList[1] (nvidia.com/hostdev): selectors.vendors: ..." if the file cannot
// be read as a configuration, if no entry is without fault, or under strict if any has one.
Result<Config> parse_config(std::string_view text, const ConfigOptions& options);
// The configurations in these documents, as one. It has no resources if there is none.
Result<Config> parse_config(const std::vector<Document>& documents, const ConfigOptions& options);

}  // namespace vfrail::plugin
