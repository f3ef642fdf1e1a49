#include "plugin/service/dra/dra_service.h"

#include "common/errors/error_id.h"
#include "plugin/service/dra/dra_apis.h"
#include "plugin/service/dra/health_streams.h"
#include "proto/pluginregistration_v1.grpc.pb.h"

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace vfrail::plugin {

namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// A call about several claims, which is answered when all of them are. Frees itself.
class ClaimsCall final : public ServerUnaryReactor {
 public:
  // With one part for each claim, and one for who starts them.
  explicit ClaimsCall(size_t parts) : open_(parts) {}

  // `write` puts the answer for one claim into the response.
  template <class Write>
  void finish_part(Write write) {
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      write();
      last = --open_ == 0;
    }
    if (last) Finish(grpc::Status::OK);  // it may be gone when this returns
  }

  void OnDone() override { delete this; }

 private:
  std::mutex mutex_;
  size_t open_;
};

Error refusal(ClaimWorkers::Turn turn) {
  const bool full = turn == ClaimWorkers::Turn::now;
  return Error{Errc::busy, 0,
               full ? "too many claims wait to be prepared or unprepared; kubelet asks again"
                    : "vfrail serve is stopping; kubelet asks again"};
}

// The boundary to gRPC: an exception (bad_alloc) must not end the plugin of the whole node.
template <class T>
Result<T> guarded(const std::function<Result<T>()>& work) {
  try {
    return work();
  } catch (const std::exception& failure) {
    return Error{Errc::system, 0, failure.what(), ErrorId::system_call};
  }
}

template <class Response>
void write_answer(const std::string& uid, const Result<std::vector<PreparedDevice>>& prepared,
                  Response& response) {
  auto& entry = (*response.mutable_claims())[uid];
  entry.Clear();
  if (!prepared) return entry.set_error(prepared.error().text_with_id());
  for (const PreparedDevice& device : *prepared) {
    auto& out = *entry.add_devices();
    out.add_request_names(device.request);
    out.set_pool_name(device.node_pool);
    out.set_device_name(device.device);
    for (const std::string& id : device.cdi_ids) out.add_cdi_device_ids(id);
    // v1beta1 has no shares.
    if constexpr (requires { out.set_share_id(device.share); }) {
      if (!device.share.empty()) out.set_share_id(device.share);
    }
  }
}

template <class Response>
void write_answer(const std::string& uid, const Result<>& unprepared, Response& response) {
  auto& entry = (*response.mutable_claims())[uid];
  entry.Clear();
  if (!unprepared) entry.set_error(unprepared.error().text_with_id());
}

template <class T>
struct ClaimTask {
  std::function<Result<T>(const ClaimName&)> work;
  std::function<ClaimWorkers::Wait(const ClaimName&)> wait = [](const ClaimName&) {
    return ClaimWorkers::Wait();
  };
};

// Does the task for each claim on the workers.
template <class T, class Claims, class Response>
ServerUnaryReactor* answer_claims(const Claims& claims, ClaimWorkers& workers, const ClaimTask<T>& task,
                                  Response& response) {
  auto* call = new ClaimsCall(static_cast<size_t>(claims.size()) + 1);
  for (const auto& claim : claims) {
    const ClaimName name{claim.namespace_(), claim.name(), claim.uid()};
    const auto answer = [call, name, &response](const Result<T>& result) {
      call->finish_part([&] { write_answer(name.uid, result, response); });
    };
    const auto work = [work = task.work, answer, name](ClaimWorkers::Turn turn) {
      if (turn == ClaimWorkers::Turn::never) return answer(refusal(turn));
      answer(guarded<T>([&] { return work(name); }));
    };
    const bool put = workers.put(name.uid, work, task.wait(name));
    if (!put) answer(refusal(ClaimWorkers::Turn::now));
  }
  call->finish_part([] {});
  return call;
}

}  // namespace

// A claim that waits for the name of the node's pool.
class DraService::PoolWait {
 public:
  PoolWait(const ClaimWork& work, std::chrono::milliseconds patience, Log& log)
      : work_(work), patience_(patience), log_(log) {}

  ClaimWorkers::Wait wait_of(const ClaimName& claim) const {
    if (!work_.needs_node_pool(claim)) return {};
    log_.info("claim waits until vfrail-kube node has answered",
              {{"claim", claim.text()}, {"uid", claim.uid}});
    return {.is_over = [&work = work_] { return !work.node_pool().empty(); },
            .until = std::chrono::steady_clock::now() + patience_};
  }

 private:
  const ClaimWork& work_;
  const std::chrono::milliseconds patience_;
  Log& log_;
};

template <class Api>
class DraService::ClaimCalls final : public Api::Service::CallbackService {
 public:
  ClaimCalls(ClaimWork& work, ClaimWorkers& workers, const PoolWait& pool)
      : work_(work), workers_(workers), pool_(pool) {}

  ServerUnaryReactor* NodePrepareResources(CallbackServerContext*,
                                           const typename Api::PrepareRequest* request,
                                           typename Api::PrepareResponse* response) override {
    return answer_claims<std::vector<PreparedDevice>>(
        request->claims(), workers_,
        {.work = [this](const ClaimName& name) { return work_.prepare(name); },
         .wait = [this](const ClaimName& name) { return pool_.wait_of(name); }},
        *response);
  }

  ServerUnaryReactor* NodeUnprepareResources(CallbackServerContext*,
                                             const typename Api::UnprepareRequest* request,
                                             typename Api::UnprepareResponse* response) override {
    return answer_claims<void>(request->claims(), workers_,
                               {.work = [this](const ClaimName& name) { return work_.unprepare(name); }},
                               *response);
  }

 private:
  ClaimWork& work_;
  ClaimWorkers& workers_;
  const PoolWait& pool_;
};

template <class Api>
class DraService::HealthCalls final : public Api::Service::CallbackService {
 public:
  HealthCalls(std::function<HealthList()> list, Log& log) : streams(std::move(list)), log_(log) {}

  typename HealthStreams<Api>::Reactor* NodeWatchResources(CallbackServerContext*,
                                                           const typename Api::Request*) override {
    log_.info("kubelet watches the health of the devices of claims", {{"version", Api::kName}});
    return streams.open();
  }

  HealthStreams<Api> streams;

 private:
  Log& log_;
};

struct DraService::Calls {
  Calls(ClaimWork& work, ClaimWorkers& workers, std::chrono::milliseconds patience, Log& log)
      : pool(work, patience, log),
        v1(work, workers, pool),
        v1beta1(work, workers, pool),
        health_v1(list_of(work), log),
        health_v1alpha1(list_of(work), log) {}

  static std::function<HealthList()> list_of(const ClaimWork& work) {
    return [&work] { return make_health_list(work.node_pool(), *work.offered()); };
  }

  const PoolWait pool;
  ClaimCalls<DraV1> v1;
  ClaimCalls<DraV1Beta1> v1beta1;
  HealthCalls<DraHealthV1> health_v1;
  HealthCalls<DraHealthV1Alpha1> health_v1alpha1;
};

class DraService::RegistrationCalls final : public pluginregistration::Registration::CallbackService {
 public:
  explicit RegistrationCalls(Options options) : options_(std::move(options)) {}

  ServerUnaryReactor* GetInfo(CallbackServerContext* context, const pluginregistration::InfoRequest*,
                              pluginregistration::PluginInfo* info) override {
    info->set_type("DRAPlugin");
    info->set_name(options_.driver);
    info->set_endpoint(options_.endpoint);
    // kubelet takes the first DRAPlugin of this list that it knows.
    for (const char* version :
         {DraV1::kName, DraV1Beta1::kName, DraHealthV1::kName, DraHealthV1Alpha1::kName})
      info->add_supported_versions(version);
    return finish(context);
  }

  ServerUnaryReactor* NotifyRegistrationStatus(CallbackServerContext* context,
                                               const pluginregistration::RegistrationStatus* status,
                                               pluginregistration::RegistrationStatusResponse*) override {
    // The owner thread logs it.
    options_.on_registration({.registered = status->plugin_registered(), .reason = status->error()});
    return finish(context);
  }

 private:
  static ServerUnaryReactor* finish(CallbackServerContext* context) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const Options options_;
};

DraService::DraService(Options options, ClaimWork& work, ClaimWorkers& workers, Log& log)
    : registration_(std::make_unique<RegistrationCalls>(options)),
      calls_(std::make_unique<Calls>(work, workers, options.node_pool_patience, log)) {}

DraService::~DraService() = default;

void DraService::add_plugin_to(grpc::ServerBuilder& builder) {
  builder.RegisterService(&calls_->v1);
  builder.RegisterService(&calls_->v1beta1);
  builder.RegisterService(&calls_->health_v1);
  builder.RegisterService(&calls_->health_v1alpha1);
}

void DraService::add_registration_to(grpc::ServerBuilder& builder) {
  builder.RegisterService(registration_.get());
}

void DraService::send_health() {
  calls_->health_v1.streams.send_all();
  calls_->health_v1alpha1.streams.send_all();
}

void DraService::finish_streams() {
  calls_->health_v1.streams.finish();
  calls_->health_v1alpha1.streams.finish();
}

size_t DraService::streams() const {
  return calls_->health_v1.streams.count() + calls_->health_v1alpha1.streams.count();
}

}  // namespace vfrail::plugin
