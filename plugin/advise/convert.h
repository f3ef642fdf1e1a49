// Configurations of device plugins and networks of CNI plugins that vfrail replaces, as vfrail's, and what
// each of them selects on a node. Pure.
#pragma once

#include "common/result.h"
#include "plugin/advise/peers.h"
#include "plugin/documents/documents.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// What `--from` names.
struct ConvertSource {
  const char* name;          // "rdma-shared"
  std::optional<Peer> peer;  // of a device plugin
  const char* key;           // its list, or the type of the CNI plugin
};
const std::vector<ConvertSource>& convert_sources();

struct ConvertRequest {
  std::string from;
  std::string file;             // for messages
  std::string resource_prefix;  // of resources without one
};

// YAML: comments that compare the selections, then the configuration or the networks.
Result<std::string> convert(const ConvertRequest& request, const std::vector<Document>& documents,
                            const PeerNode& node);

// A CNI configuration with its device plugins replaced by vfrail; no value if it has none. `plugins` that
// move the RDMA device alone are left out: vfrail moves it.
std::optional<Json> convert_network(const Json& config);

}  // namespace vfrail::plugin
