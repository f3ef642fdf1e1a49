// What another device plugin selects on a node with its configuration, compared with what vfrail selects with
// the same file, which it reads unchanged. Pure.
#pragma once

#include "common/result.h"
#include "plugin/admin/advise/peers.h"
#include "plugin/documents/documents.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// What `--from` names.
struct ComparedPlugin {
  const char* name;     // "rdma-shared"
  const char* project;  // whose name is taken, too: "k8s-rdma-shared-dev-plugin"
  Peer peer;
  const char* key;  // of its configuration: "configList"
};
const std::vector<ComparedPlugin>& compared_plugins();

struct CompareRequest {
  std::string from;             // empty: what the keys of the file say
  std::string file;             // for messages
  std::string resource_prefix;  // of resources without one
};

// Lines for people: for each resource what each of the two selects, and why vfrail leaves a device out.
Result<std::string> compare(const CompareRequest& request, const std::vector<Document>& documents,
                            const PeerNode& node);

}  // namespace vfrail::plugin
