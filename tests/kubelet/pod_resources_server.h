// PodResourcesServer: kubelet's pod-resources API, for tests: serves List on pod-resources/kubelet.sock below
// the kubelet's folder, from what the test says, and fails in the ways that a kubelet does.
#pragma once

#include "plugin/device/match/devices_in_use.h"
#include "plugin/service/kubelet/grpc_library.h"

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

namespace vfrail::test {
using namespace plugin;

class PodResourcesServer {
 public:
  explicit PodResourcesServer(const std::string& kubelet_root);
  PodResourcesServer(const PodResourcesServer&) = delete;
  PodResourcesServer& operator=(const PodResourcesServer&) = delete;
  ~PodResourcesServer();

  // `taken` means nothing here.
  void set(DevicesInUse in_use);
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
