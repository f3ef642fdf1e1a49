// DraService: the gRPC services of the DRA driver: DRAPlugin and DRAResourceHealth, in both versions each,
// and pluginregistration.Registration: protobuf to our types and back. What a claim is refused for is its own
// `error` in the answer and never an error of the call, which would fail all claims in it. Never listens.
#pragma once

#include "common/log.h"
#include "plugin/service/dra/claim_work.h"
#include "plugin/service/dra/claim_workers.h"
#include "plugin/service/kubelet/service.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

namespace vfrail::plugin {

class DraService {
 public:
  struct Options {
    std::string driver;
    std::string endpoint;  // absolute path of the socket of DRAPlugin, as kubelet sees it
    // Called on a gRPC thread; only notes the result for the owner thread.
    std::function<void(RegistrationResult)> on_registration;
    // As DraPublisher::Options has it.
    std::chrono::milliseconds node_pool_patience{0};
  };

  // All outlive this; this outlives the gRPC servers.
  DraService(Options options, ClaimWork& work, ClaimWorkers& workers, Log& log);
  DraService(const DraService&) = delete;
  DraService& operator=(const DraService&) = delete;
  ~DraService();

  void add_plugin_to(grpc::ServerBuilder& builder);
  void add_registration_to(grpc::ServerBuilder& builder);

  // The present list, on all health streams.
  void send_health();
  void finish_streams();
  size_t streams() const;

 private:
  class PoolWait;
  template <class Api>
  class ClaimCalls;
  template <class Api>
  class HealthCalls;
  struct Calls;
  class RegistrationCalls;

  const std::unique_ptr<RegistrationCalls> registration_;
  const std::unique_ptr<Calls> calls_;
};

}  // namespace vfrail::plugin
