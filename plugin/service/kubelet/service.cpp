#include "plugin/service/kubelet/service.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/device/prefer/preferred.h"
#include "plugin/service/kubelet/allocate_response.h"
#include "proto/pluginregistration_v1.grpc.pb.h"

#include <exception>
#include <utility>
#include <vector>

namespace vfrail::plugin {

namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

ServerUnaryReactor* finish(CallbackServerContext* context, const grpc::Status& status) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

std::vector<std::vector<std::string>> ids_of(const v1beta1::AllocateRequest& request) {
  std::vector<std::vector<std::string>> out;
  for (const auto& container : request.container_requests()) {
    out.emplace_back(container.devices_ids().begin(), container.devices_ids().end());
  }
  return out;
}

std::string joined(const std::vector<std::vector<std::string>>& containers) {
  std::string out;
  for (const auto& ids : containers) {
    for (const std::string& id : ids) out += (out.empty() ? "" : ",") + id;
  }
  return out;
}

// The device nodes of all containers, as they see them; with CDI the names that stand for them.
std::string joined_nodes(const std::vector<ContainerEdits>& containers) {
  std::vector<std::string> out;
  for (const ContainerEdits& edits : containers) {
    for (const DeviceNode& node : edits.nodes) out.push_back(node.container_path);
    out.insert(out.end(), edits.cdi_devices.begin(), edits.cdi_devices.end());
  }
  return vfrail::joined(out, ",");
}

PreferredRequest to_request(const v1beta1::ContainerPreferredAllocationRequest& container) {
  const auto& available = container.available_deviceids();
  const auto& must = container.must_include_deviceids();
  return {.available = {available.begin(), available.end()},
          .must_include = {must.begin(), must.end()},
          .size = container.allocation_size()};
}

Result<> fill(const ResourceConfig& resource, const std::vector<ContainerEdits>& containers,
              v1beta1::AllocateResponse& response) {
  for (const ContainerEdits& edits : containers)
    TRY(to_response(resource, edits, *response.add_container_responses()));
  return {};
}

}  // namespace

grpc::Status to_status(const Error& error) {
  const auto code = [&] {
    switch (error.code) {
      case Errc::invalid:
        return grpc::StatusCode::INVALID_ARGUMENT;
      case Errc::not_found:
        return grpc::StatusCode::NOT_FOUND;
      case Errc::exists:
        return grpc::StatusCode::ALREADY_EXISTS;
      case Errc::busy:
      case Errc::not_yet:
        return grpc::StatusCode::UNAVAILABLE;
      case Errc::denied:
        return grpc::StatusCode::PERMISSION_DENIED;
      case Errc::unsupported:
        return grpc::StatusCode::FAILED_PRECONDITION;
      case Errc::timeout:
        return grpc::StatusCode::DEADLINE_EXCEEDED;
      case Errc::protocol:
      case Errc::peer:
      case Errc::wrong_netns:
      case Errc::system:
        return grpc::StatusCode::INTERNAL;
    }
    return grpc::StatusCode::INTERNAL;
  }();
  return {code, error.text_with_id()};  // kubelet shows it in the pod's event
}

class Service::DevicePluginCalls final : public v1beta1::DevicePlugin::CallbackService {
 public:
  explicit DevicePluginCalls(plugin::Service& service) : service_(service) {}

  ServerUnaryReactor* GetDevicePluginOptions(CallbackServerContext* context, const v1beta1::Empty*,
                                             v1beta1::DevicePluginOptions* options) override {
    service_.log_.debug("kubelet asks for the options", {{"resource", service_.resource_}});
    options->set_get_preferred_allocation_available(preference_of(*service_.pool()) != Preference::none);
    return finish(context, grpc::Status::OK);
  }

  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(CallbackServerContext*,
                                                                        const v1beta1::Empty*) override {
    service_.log_.info("kubelet watches the devices", {{"resource", service_.resource_}});
    return service_.streams_.open();
  }

  ServerUnaryReactor* Allocate(CallbackServerContext* context, const v1beta1::AllocateRequest* request,
                               v1beta1::AllocateResponse* response) override {
    const auto began = Counters::start();
    return AllocateCall::begin(
        *context, service_.timer_, service_.patience_,
        {.prepare = [=, this] { return prepare(*request); },
         .on_wait =
             [=, this] {
               service_.log_.info("waiting for a device to return from another pod",
                                  {{"resource", service_.resource_}, {"devices", joined(ids_of(*request))}});
             },
         .answer =
             [=, this](ReturnWait::Prepared prepared) {
               const grpc::Status status = answer(*request, std::move(prepared), *response);
               if (service_.options_.counters != nullptr)
                 service_.options_.counters->allocated(service_.resource_,
                                                       status.ok() ? Outcome::ok : Outcome::failed, began);
               return status;
             }});
  }

  ServerUnaryReactor* GetPreferredAllocation(CallbackServerContext* context,
                                             const v1beta1::PreferredAllocationRequest* request,
                                             v1beta1::PreferredAllocationResponse* response) override {
    if (service_.options_.counters != nullptr) service_.options_.counters->preferred(service_.resource_);
    // Never an error: kubelet would refuse the pod. An empty answer leaves the choice to kubelet.
    const auto pool = service_.pool();
    for (const auto& container : request->container_requests()) prefer(pool, container, *response);
    return finish(context, grpc::Status::OK);
  }

  ServerUnaryReactor* PreStartContainer(CallbackServerContext* context,
                                        const v1beta1::PreStartContainerRequest*,
                                        v1beta1::PreStartContainerResponse*) override {
    service_.log_.debug("kubelet announces a container start", {{"resource", service_.resource_}});
    return finish(context, grpc::Status::OK);
  }

 private:
  void prefer(const PublishedPool& pool, const v1beta1::ContainerPreferredAllocationRequest& container,
              v1beta1::PreferredAllocationResponse& response) {
    auto& answer = *response.add_container_responses();
    std::vector<std::string> ids;
    try {
      ids = preferred(pool, to_request(container));
      for (const std::string& id : ids) answer.add_deviceids(id);
    } catch (const std::exception& failure) {  // boundary to gRPC: bad_alloc
      answer.clear_deviceids();
      service_.log_.error("GetPreferredAllocation failed",
                          {{"resource", service_.resource_},
                           {"available", std::to_string(container.available_deviceids_size())},
                           {"reason", failure.what()},
                           {"id", id_text(ErrorId::system_call)}});
      return;
    }
    service_.log_.debug("preferred devices",
                        {{"resource", service_.resource_},
                         {"wanted", std::to_string(container.allocation_size())},
                         {"available", std::to_string(container.available_deviceids_size())},
                         {"devices", joined({ids})}});
  }

  // These two are the boundary to gRPC: an exception (bad_alloc) must not end the plugin of the whole node.
  ReturnWait::Prepared prepare(const v1beta1::AllocateRequest& request) {
    try {
      return plugin::prepare(service_.pool(), ids_of(request), service_.options_.places);
    } catch (const std::exception& failure) {
      return Error{Errc::system, 0, failure.what()};
    }
  }

  grpc::Status answer(const v1beta1::AllocateRequest& request, ReturnWait::Prepared prepared,
                      v1beta1::AllocateResponse& response) {
    try {
      return fill_answer(request, std::move(prepared), response);
    } catch (const std::exception& failure) {
      service_.log_.error("Allocate failed", {{"resource", service_.resource_},
                                              {"reason", failure.what()},
                                              {"id", id_text(ErrorId::system_call)}});
      return grpc::Status(grpc::StatusCode::INTERNAL, failure.what());
    }
  }

  grpc::Status fill_answer(const v1beta1::AllocateRequest& request, ReturnWait::Prepared prepared,
                           v1beta1::AllocateResponse& response) {
    const std::string devices = joined(ids_of(request));
    const auto filled =
        prepared ? fill(service_.pool()->config, *prepared, response) : Result<>(prepared.error());
    if (!filled) {
      service_.log_.error("allocate refused", {{"resource", service_.resource_},
                                               {"devices", devices},
                                               {"reason", filled.error().text},
                                               {"id", filled.error().id_text()}});
      return to_status(filled.error());
    }
    service_.log_.info(
        "allocated",
        {{"resource", service_.resource_}, {"devices", devices}, {"nodes", joined_nodes(*prepared)}});
    return grpc::Status::OK;
  }

  plugin::Service& service_;  // "Service" alone is the generated base class here
};

class Service::RegistrationCalls final : public pluginregistration::Registration::CallbackService {
 public:
  explicit RegistrationCalls(plugin::Service& service) : service_(service) {}

  ServerUnaryReactor* GetInfo(CallbackServerContext* context, const pluginregistration::InfoRequest*,
                              pluginregistration::PluginInfo* info) override {
    service_.log_.debug("GetInfo", {{"resource", service_.resource_}});
    info->set_type("DevicePlugin");
    info->set_name(service_.resource_);
    info->set_endpoint(service_.options_.endpoint);
    // What the peers answer; kubelet requires v1beta1 among them.
    info->add_supported_versions("v1alpha1");
    info->add_supported_versions("v1beta1");
    return finish(context, grpc::Status::OK);
  }

  ServerUnaryReactor* NotifyRegistrationStatus(CallbackServerContext* context,
                                               const pluginregistration::RegistrationStatus* status,
                                               pluginregistration::RegistrationStatusResponse*) override {
    // The owner thread logs it.
    service_.options_.on_registration({.registered = status->plugin_registered(), .reason = status->error()});
    return finish(context, grpc::Status::OK);
  }

 private:
  plugin::Service& service_;  // "Service" alone is the generated base class here
};

Service::Service(PublishedPool first, Options options, Log& log)
    : resource_(first->resource()),
      options_(std::move(options)),
      log_(log),
      published_(std::move(first)),
      streams_(published_, options_.on_stream_end),
      patience_(options_.return_patience),
      device_plugin_(std::make_unique<DevicePluginCalls>(*this)),
      registration_(std::make_unique<RegistrationCalls>(*this)) {}

Service::~Service() = default;

void Service::add_to(grpc::ServerBuilder& builder) {
  builder.RegisterService(device_plugin_.get());
  builder.RegisterService(registration_.get());
}

bool Service::publish(PublishedPool next) {
  const bool changed = published_.publish(std::move(next));
  if (changed) streams_.wake();
  return changed;
}

}  // namespace vfrail::plugin
