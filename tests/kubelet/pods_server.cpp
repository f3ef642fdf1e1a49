#include "tests/kubelet/pods_server.h"

#include "common/files.h"
#include "plugin/service/kubelet/pods_call.h"
#include "proto/pods_v1alpha1.grpc.pb.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace vfrail::test {
using namespace plugin;

class PodsServer::Calls final : public v1alpha1::Pods::Service {
 public:
  grpc::Status GetPod(grpc::ServerContext* context, const v1alpha1::GetPodRequest* asked,
                      v1alpha1::GetPodResponse* answer) override {
    std::unique_lock lock(mutex_);
    ++count_;
    while (hangs_ && !context->IsCancelled()) changed_.wait_for(lock, std::chrono::milliseconds{20});
    if (!status_.ok()) return status_;
    if (!uids_.contains(asked->poduid()))
      return {grpc::StatusCode::NOT_FOUND, "pod with UID " + asked->poduid() + " not found"};
    answer->set_pod("a v1.Pod");
    return grpc::Status::OK;
  }

  template <class Change>
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change(*this);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> uids_;
  grpc::Status status_;
  bool hangs_ = false;
  int count_ = 0;
};

PodsServer::PodsServer(const std::string& kubelet_root) : calls_(std::make_unique<Calls>()) {
  const std::string socket = pods_socket(kubelet_root);
  if (const auto made = make_folder(socket.substr(0, socket.rfind('/')), 0755); !made) {
    throw std::runtime_error(made.error().text);
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(calls_.get());
  server_ = builder.BuildAndStart();
  if (!server_) throw std::runtime_error("test kubelet: cannot listen on " + socket);
}

PodsServer::~PodsServer() {
  hang(false);
  server_->Shutdown(std::chrono::system_clock::now());
}

void PodsServer::set(std::set<std::string> uids) {
  calls_->change([&](Calls& calls) { calls.uids_ = std::move(uids); });
}
void PodsServer::refuse(const grpc::Status& status) {
  calls_->change([&](Calls& calls) { calls.status_ = status; });
}
void PodsServer::hang(bool on) {
  calls_->change([&](Calls& calls) { calls.hangs_ = on; });
}
int PodsServer::calls() const {
  int out = 0;
  calls_->change([&](const Calls& calls) { out = calls.count_; });
  return out;
}

}  // namespace vfrail::test
