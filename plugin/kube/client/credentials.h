// Credentials: the token and the certificates to show to an API server, read again when they may have
// changed. No message has any of them. Belongs to one thread.
#pragma once

#include "common/result.h"
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/client/connection.h"

#include <chrono>
#include <optional>
#include <string>

namespace vfrail::kube {

class Credentials {
 public:
  using Clock = std::chrono::steady_clock;

  // `access` outlives it.
  explicit Credentials(const ClusterAccess& access) : access_(access) {}

  // The token of the moment; empty: none. That of a file is read again after a minute: kubelet renews it at
  // 80 % of its life, which is an hour by default.
  Result<std::string> token(Clock::time_point now);
  // For a new connection, with the files as they are now.
  Result<TlsMaterial> tls(Clock::time_point now);
  // The server has refused the token (401): the next call reads or makes it anew.
  void refused() { read_at_.reset(); }

 private:
  Result<> refresh(Clock::time_point now);
  Result<> run_plugin();

  const ClusterAccess& access_;
  std::optional<Clock::time_point> read_at_;
  std::string token_;
  // Of an exec plugin, which can give a certificate too; it is run again shortly before the end it names.
  std::string certificate_;
  std::string key_;
  std::optional<std::chrono::system_clock::time_point> expires_;
};

}  // namespace vfrail::kube
