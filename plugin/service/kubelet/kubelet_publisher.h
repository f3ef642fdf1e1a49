// KubeletPublisher: the pools as extended resources of kubelet's device-plugin API, and its pod-resources
// API, which knows what containers have. Watches the folder of the sockets, passes results of gRPC threads to
// the owner thread. The resources themselves are resources.h.
#pragma once

#include "plugin/publish/publisher.h"
#include "plugin/service/kubelet/grpc_library.h"
#include "plugin/service/kubelet/kubelet.h"
#include "plugin/service/kubelet/pod_resources.h"
#include "plugin/service/kubelet/resources.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

class KubeletPublisher final : public Publisher {
 public:
  struct Options {
    std::string kubelet_root;
    Registration registration = Registration::watcher;
    AllocatePlaces places;
    Counters* counters = nullptr;  // outlives this; null: not counted
    std::chrono::milliseconds stream_patience{3000};
    // How long an Allocate waits for a device to return from the pod before, which was deleted by force.
    std::chrono::milliseconds return_patience{10'000};
    // The resources that kubelet is to get, which may change; empty: all.
    std::function<bool(const ResourceConfig&)> serves = {};
    // With `serves`: units of these that pods have by claims, of which kubelet's device plugin knows nothing.
    std::function<std::set<std::string>(const ResourceConfig&)> claimed = {};
  };

  KubeletPublisher(Options options, Log& log);
  ~KubeletPublisher() override;

  Result<> start(std::function<void()> wake) override;
  std::vector<int> fds() const override;
  void read() override;
  bool follow(const std::vector<PublishedPool>& pools, Time now) override;
  Time run_due(Time now) override;
  bool ask_in_use(Time now) override;
  std::optional<Answer> take_answer() override;
  std::vector<ResourceStatus> status() const override { return resources_.status(); }
  void close(std::chrono::milliseconds patience) override { resources_.close(patience); }

 private:
  class Mailbox;

  void take_registrations(Time now);
  std::vector<PublishedPool> served() const;
  std::vector<std::string> ways() const;

  const GrpcLibrary grpc_;
  const Options options_;
  Log& log_;
  const std::shared_ptr<Mailbox> mailbox_;
  Resources resources_;
  std::vector<PublishedPool> pools_;
  std::vector<std::string> served_;  // ways() of then
  std::optional<FolderWatch> watch_;
  std::unique_ptr<PodResourcesCall> asking_;
  Time asked_at_{};  // when that request was sent
};

}  // namespace vfrail::plugin
