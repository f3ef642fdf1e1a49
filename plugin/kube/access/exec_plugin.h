// Runs a credential plugin of a kubeconfig, and reads what it prints (ExecCredential of
// client.authentication.k8s.io/v1 and v1beta1).
#pragma once

#include "common/result.h"
#include "plugin/kube/access/cluster_access.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace vfrail::kube {

struct ExecCredential {
  std::string token;
  std::string certificate;  // PEM, with `key`
  std::string key;
  std::optional<std::chrono::system_clock::time_point> expires;
};

// The user's environment, terminal and stderr are the plugin's, so that it can ask for a password. Two
// minutes at most. Errors name the command, with the hint of the kubeconfig if it is not installed.
Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const ClusterAccess& access);

// Of its output.
Result<ExecCredential> read_exec_credential(std::string_view output, const std::string& api_version);

}  // namespace vfrail::kube
