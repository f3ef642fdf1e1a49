// ClusterAccess: where the API server is and what to show it: in a pod by its service account, elsewhere by
// kubeconfig. Reads files and the environment; connects to nothing.
#pragma once

#include "common/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace vfrail::kube {

// A file that is read again when it is needed, or a text.
struct Material {
  std::string file;
  std::string text;

  bool is_given() const { return !file.empty() || !text.empty(); }
};

// A credential plugin of a kubeconfig (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string install_hint;
  bool provide_cluster_info = false;
};

struct ClusterAccess {
  std::string host;  // a name or an address, IPv6 without brackets
  uint16_t port = 443;
  std::string path;           // before each path of the API: "/k8s/clusters/c-1"; empty: none
  std::string verified_name;  // that its certificate must have: the host, or tls-server-name
  Material authority;         // PEM; not given: what the system trusts
  Material token;
  Material certificate;  // PEM, with `key`
  Material key;
  ExecPlugin exec;         // command empty: none
  std::string name_space;  // where commands look for pods by default
  std::string source;  // for messages: "kubeconfig /root/.kube/config, context admin", "the service account
                       // of this pod"
};

struct AccessOptions {
  std::string kubeconfig = {};  // empty: of the environment
  std::string context = {};     // empty: the current one
  // getenv(); tests pass their own.
  std::function<std::string(const char*)> environment = {};
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// As kubectl does: --kubeconfig, else $KUBECONFIG (several files, the first that names a thing counts), else
// ~/.kube/config, else the service account of the pod. Errc::not_found if there is none of them,
// Errc::invalid for what is wrong in a file, Errc::unsupported for `insecure-skip-tls-verify`, user and
// password, auth-provider and proxy-url, each with what to do.
Result<ClusterAccess> find_cluster(const AccessOptions& options);
// KUBERNETES_SERVICE_HOST and _PORT, with token and ca.crt of the service account.
Result<ClusterAccess> access_in_pod(const AccessOptions& options);

}  // namespace vfrail::kube
