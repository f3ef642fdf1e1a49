// PluginClient: kubelet's end of one device plugin's socket: the handshake of the plugin watcher, the
// ListAndWatch stream on a thread of its own, Allocate. Keeps no state of the node.
#pragma once

#include "common/result.h"
#include "proto/deviceplugin_v1beta1.grpc.pb.h"
#include "proto/pluginregistration_v1.grpc.pb.h"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <grpcpp/grpcpp.h>

namespace vfrail::test {

class PluginClient {
 public:
  static Result<std::unique_ptr<PluginClient>> connect(const std::string& socket,
                                                       std::chrono::milliseconds timeout);
  PluginClient(const PluginClient&) = delete;
  PluginClient& operator=(const PluginClient&) = delete;
  ~PluginClient() { drop(); }

  Result<pluginregistration::PluginInfo> info();
  // An empty reason means that the plugin is registered.
  Result<> notify(const std::string& reason);
  Result<v1beta1::DevicePluginOptions> options();
  grpc::Status allocate(const v1beta1::AllocateRequest& request, v1beta1::AllocateResponse& response);
  grpc::Status preferred(const v1beta1::PreferredAllocationRequest& request,
                         v1beta1::PreferredAllocationResponse& response);
  grpc::Status pre_start(const v1beta1::PreStartContainerRequest& request);

  // Both are called on the stream's thread; `end` once, at last.
  void watch(std::function<void(const v1beta1::ListAndWatchResponse&)> list,
             std::function<void(const grpc::Status&)> end);
  // Hangs up and waits for the thread. On any threads: one that drops the streams can meet one that adopts
  // the plugin's next registration.
  void drop();

 private:
  explicit PluginClient(std::shared_ptr<grpc::Channel> channel);

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> plugin_;
  std::unique_ptr<pluginregistration::Registration::Stub> registration_;
  grpc::ClientContext stream_;
  std::thread reader_;
  std::mutex joining_;  // a thread is joined once
};

}  // namespace vfrail::test
