// Service: the gRPC services of one resource, DevicePlugin and pluginregistration.Registration: protobuf to
// our types and back, errors to gRPC status codes. Never listens (that is Endpoint) and never decides what is
// in the pool (that is the owner thread, which publishes).
#pragma once

#include "common/errors/error_id.h"
#include "common/log.h"
#include "plugin/device/allocate/prepare.h"
#include "plugin/observe/status/counters.h"
#include "plugin/service/kubelet/allocate_call.h"
#include "plugin/service/kubelet/list_streams.h"
#include "plugin/service/kubelet/published.h"
#include "plugin/service/kubelet/steady_timer.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

namespace vfrail::plugin {

// Kubelet's answer to a registration, from the plugin watcher or the Register call.
struct RegistrationResult {
  bool registered = false;
  std::string reason = {};  // why not
  ErrorId id = ErrorId::registration_refused;
};

class Service {
 public:
  struct Options {
    std::string endpoint;  // absolute path of the socket, as kubelet sees it
    AllocatePlaces places;
    Counters* counters = nullptr;  // outlives this; null: not counted
    // How long Allocate waits for a device to return from the pod before.
    std::chrono::milliseconds return_patience{0};
    // Called on a gRPC thread; only notes the result for the owner thread.
    std::function<void(RegistrationResult)> on_registration;
    // Called on a gRPC thread: a client has closed one of the streams.
    std::function<void()> on_stream_end = {};
  };

  // `log` outlives this; this outlives the gRPC server.
  Service(PublishedPool first, Options options, Log& log);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();

  void add_to(grpc::ServerBuilder& builder);
  // True if the list for kubelet changed.
  bool publish(PublishedPool next);
  void finish_streams() { streams_.finish(); }

  const std::string& resource() const { return resource_; }
  const std::string& endpoint() const { return options_.endpoint; }
  PublishedPool pool() const { return published_.get().pool; }
  size_t streams() const { return streams_.count(); }
  bool all_sent() const { return streams_.all_sent(); }

 private:
  class DevicePluginCalls;
  class RegistrationCalls;

  const std::string resource_;
  const Options options_;
  Log& log_;
  Published published_;
  ListStreams streams_;
  ReturnPatience patience_;
  SteadyTimer timer_;
  std::unique_ptr<DevicePluginCalls> device_plugin_;
  std::unique_ptr<RegistrationCalls> registration_;
};

grpc::Status to_status(const Error& error);

}  // namespace vfrail::plugin
