#include "tests/kubelet/plugin_client.h"

#include <utility>

namespace vfrail::test {

namespace {

constexpr std::chrono::seconds kCallTimeout{10};

void limit(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
}

Error to_error(const grpc::Status& status) {
  return Error{Errc::peer, 0,
               "gRPC code " + std::to_string(status.error_code()) + ": " + status.error_message()};
}

}  // namespace

PluginClient::PluginClient(std::shared_ptr<grpc::Channel> channel)
    : channel_(std::move(channel)),
      plugin_(v1beta1::DevicePlugin::NewStub(channel_)),
      registration_(pluginregistration::Registration::NewStub(channel_)) {}

Result<std::unique_ptr<PluginClient>> PluginClient::connect(const std::string& socket,
                                                            std::chrono::milliseconds timeout) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a new connection each time, as kubelet has it
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A socket that is just being replaced: gRPC would wait a second before it tries again.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  auto channel = grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + timeout)) {
    return Error{Errc::timeout, 0, "nobody answers on " + socket};
  }
  return std::unique_ptr<PluginClient>(new PluginClient(std::move(channel)));
}

Result<pluginregistration::PluginInfo> PluginClient::info() {
  grpc::ClientContext context;
  limit(context);
  pluginregistration::PluginInfo answer;
  const auto status = registration_->GetInfo(&context, {}, &answer);
  if (!status.ok()) return to_error(status);
  return answer;
}

Result<> PluginClient::notify(const std::string& reason) {
  grpc::ClientContext context;
  limit(context);
  pluginregistration::RegistrationStatus request;
  request.set_plugin_registered(reason.empty());
  request.set_error(reason);
  pluginregistration::RegistrationStatusResponse answer;
  const auto status = registration_->NotifyRegistrationStatus(&context, request, &answer);
  if (!status.ok()) return to_error(status);
  return {};
}

Result<v1beta1::DevicePluginOptions> PluginClient::options() {
  grpc::ClientContext context;
  limit(context);
  v1beta1::DevicePluginOptions answer;
  const auto status = plugin_->GetDevicePluginOptions(&context, {}, &answer);
  if (!status.ok()) return to_error(status);
  return answer;
}

grpc::Status PluginClient::allocate(const v1beta1::AllocateRequest& request,
                                    v1beta1::AllocateResponse& response) {
  grpc::ClientContext context;
  limit(context);
  return plugin_->Allocate(&context, request, &response);
}

grpc::Status PluginClient::preferred(const v1beta1::PreferredAllocationRequest& request,
                                     v1beta1::PreferredAllocationResponse& response) {
  grpc::ClientContext context;
  limit(context);
  return plugin_->GetPreferredAllocation(&context, request, &response);
}

grpc::Status PluginClient::pre_start(const v1beta1::PreStartContainerRequest& request) {
  grpc::ClientContext context;
  limit(context);
  v1beta1::PreStartContainerResponse answer;
  return plugin_->PreStartContainer(&context, request, &answer);
}

void PluginClient::watch(std::function<void(const v1beta1::ListAndWatchResponse&)> list,
                         std::function<void(const grpc::Status&)> end) {
  reader_ = std::thread([this, list = std::move(list), end = std::move(end)] {
    const auto stream = plugin_->ListAndWatch(&stream_, v1beta1::Empty());
    v1beta1::ListAndWatchResponse response;
    while (stream->Read(&response)) list(response);
    end(stream->Finish());
  });
}

void PluginClient::drop() {
  stream_.TryCancel();
  const std::lock_guard lock(joining_);
  if (reader_.joinable()) reader_.join();
}

}  // namespace vfrail::test
