// A kubeconfig for an API server of a test, for programs that are started upon it.
#pragma once

#include "common/files.h"
#include "tests/kube/api_server.h"
#include "tests/support/temp_dir.h"

#include <string>

#include <catch2/catch.hpp>

namespace vfrail::kube {

inline std::string kubeconfig_of(const ApiServer& server, const test::TempDir& folder,
                                 const std::string& token = "t") {
  const std::string ca = folder.path("ca.crt");
  REQUIRE(write_file(ca, server.authority(), 0600, Durability::renamed));
  const std::string path = folder.path("kubeconfig");
  REQUIRE(write_file(
      path,
      "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u, namespace: train}}]\n"
      "clusters: [{name: c, cluster: {server: \"https://127.0.0.1:" +
          std::to_string(server.port()) + "\", certificate-authority: " + ca +
          "}}]\nusers: [{name: u, user: {token: " + token + "}}]\n",
      0600, Durability::renamed));
  return path;
}

}  // namespace vfrail::kube
