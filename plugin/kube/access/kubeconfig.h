// A kubeconfig: which cluster and which user a context names. Pure: the files are read by the caller.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "plugin/kube/access/cluster_access.h"

#include <string>
#include <vector>

namespace vfrail::kube {

struct KubeconfigFile {
  std::string path;
  Json value;  // an object; empty files are left out
};

// Of several files the first that has a cluster, user or context of a name counts, and the first that has a
// current context: as $KUBECONFIG is read by kubectl. `context` empty: the current one. Paths in a file are
// relative to its folder. Errors as find_cluster().
Result<ClusterAccess> read_kubeconfig(const std::vector<KubeconfigFile>& files, const std::string& context);

}  // namespace vfrail::kube
