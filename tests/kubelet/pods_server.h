// PodsServer: kubelet's Pods API, for tests: serves GetPod on pods-api/pods-api.sock below the kubelet's folder, from
// what the test says, and fails in the ways that a kubelet does.
#pragma once

#include "plugin/service/kubelet/grpc_library.h"

#include <memory>
#include <set>
#include <string>

#include <grpcpp/grpcpp.h>

namespace vfrail::test {
using namespace plugin;

class PodsServer {
 public:
  explicit PodsServer(const std::string& kubelet_root);
  PodsServer(const PodsServer&) = delete;
  PodsServer& operator=(const PodsServer&) = delete;
  ~PodsServer();

  // The UIDs of the pods that kubelet has.
  void set(std::set<std::string> uids);
  // From now on: refuse (with a status other than OK), or answer again.
  void refuse(const grpc::Status& status);
  // From now on calls get no answer, until this is called with false.
  void hang(bool on);
  int calls() const;

 private:
  class Calls;
  const GrpcLibrary grpc_;
  std::unique_ptr<Calls> calls_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace vfrail::test
