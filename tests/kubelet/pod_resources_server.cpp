#include "tests/kubelet/pod_resources_server.h"

#include "common/files.h"
#include "plugin/service/kubelet/pod_resources.h"
#include "proto/podresources_v1.grpc.pb.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace vfrail::test {
using namespace plugin;

namespace {

// Pod by pod and container by container, as kubelet nests them.
v1::ListPodResourcesResponse answer_of(const DevicesInUse& in_use) {
  using Devices = std::map<std::string, std::vector<std::string>>;  // resource -> ids
  std::map<std::pair<std::string, std::string>, std::map<std::string, Devices>> pods;
  for (const auto& [resource, devices] : in_use.resources) {
    for (const auto& [id, by] : devices)
      pods[{by.pod_namespace, by.pod}][by.container][resource].push_back(id);
  }
  v1::ListPodResourcesResponse out;
  for (const auto& [name, containers] : pods) {
    v1::PodResources& pod = *out.add_pod_resources();
    pod.set_namespace_(name.first);
    pod.set_name(name.second);
    for (const auto& [container_name, resources] : containers) {
      v1::ContainerResources& container = *pod.add_containers();
      container.set_name(container_name);
      container.add_cpu_ids(3);  // other fields of kubelet's answer
      for (const auto& [resource, ids] : resources) {
        v1::ContainerDevices& devices = *container.add_devices();
        devices.set_resource_name(resource);
        for (const std::string& id : ids) devices.add_device_ids(id);
        devices.mutable_topology()->add_nodes()->set_id(0);
      }
    }
  }
  return out;
}

}  // namespace

class PodResourcesServer::Calls final : public v1::PodResourcesLister::Service {
 public:
  grpc::Status List(grpc::ServerContext* context, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* answer) override {
    std::unique_lock lock(mutex_);
    ++count_;
    while (hangs_ && !context->IsCancelled()) changed_.wait_for(lock, std::chrono::milliseconds{20});
    if (status_.ok()) *answer = answer_of(in_use_);
    return status_;
  }

  template <class Change>
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change(*this);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  DevicesInUse in_use_;
  grpc::Status status_;
  bool hangs_ = false;
  int count_ = 0;
};

PodResourcesServer::PodResourcesServer(const std::string& kubelet_root) : calls_(std::make_unique<Calls>()) {
  const std::string socket = pod_resources_socket(kubelet_root);
  if (const auto made = make_folder(socket.substr(0, socket.rfind('/')), 0755); !made) {
    throw std::runtime_error(made.error().text);
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(calls_.get());
  server_ = builder.BuildAndStart();
  if (!server_) throw std::runtime_error("test kubelet: cannot listen on " + socket);
}

PodResourcesServer::~PodResourcesServer() {
  hang(false);
  server_->Shutdown(std::chrono::system_clock::now());
}

void PodResourcesServer::set(DevicesInUse in_use) {
  calls_->change([&](Calls& calls) { calls.in_use_ = std::move(in_use); });
}
void PodResourcesServer::refuse(const grpc::Status& status) {
  calls_->change([&](Calls& calls) { calls.status_ = status; });
}
void PodResourcesServer::hang(bool on) {
  calls_->change([&](Calls& calls) { calls.hangs_ = on; });
}
int PodResourcesServer::calls() const {
  int out = 0;
  calls_->change([&](const Calls& calls) { out = calls.count_; });
  return out;
}

}  // namespace vfrail::test
