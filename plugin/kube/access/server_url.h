// ServerUrl: the address of an API server as a kubeconfig or an environment variable has it. Pure.
#pragma once

#include "common/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace vfrail::kube {

struct ServerUrl {
  std::string host;  // IPv6 without brackets
  uint16_t port = 443;
  std::string path;  // "/k8s/clusters/c-1"; no slash at the end
};

// "https://10.0.0.1:6443", "https://[fd00::1]", "https://rancher.example/k8s/clusters/c-1". Errc::unsupported
// for http, by which a token would be readable on its way; Errc::invalid for anything else.
Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace vfrail::kube
