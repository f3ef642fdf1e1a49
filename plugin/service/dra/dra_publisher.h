// DraPublisher: the pools as devices of Dynamic Resource Allocation, for kubelet: its two sockets, what they
// serve, and the registration. The ResourceSlices are published by vfrail-kube. Passes results of gRPC
// threads to the owner thread; what waits for the API server is on threads of its own.
#pragma once

#include "plugin/dra/offer.h"
#include "plugin/publish/publisher.h"
#include "plugin/service/dra/claim_work.h"
#include "plugin/service/dra/claim_workers.h"
#include "plugin/service/dra/dra_service.h"
#include "plugin/service/dra/dra_sockets.h"
#include "plugin/service/dra/health_list.h"
#include "plugin/service/kubelet/grpc_library.h"
#include "plugin/service/kubelet/kubelet.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

class DraPublisher final : public Publisher {
 public:
  struct Options {
    std::string kubelet_root;
    std::string driver = kDraDriver;
    std::string instance = {};  // uid of the pod that this runs in; empty: the only one on the node
    AllocatePlaces places;      // with the CDI folder, and with vfrail-cni's records
    // Which resources go by claims, which may change; empty: all.
    std::function<bool(const ResourceConfig&)> by_claims = {};
    uint32_t lanes = 1;                // of a shared device, as OfferOptions has them
    bool for_dranet = false;           // likewise
    bool root_of_data_direct = false;  // likewise
    // The name of this node's pool, as vfrail-kube has answered it; empty: not yet. Called on any thread.
    std::function<std::string()> node_pool;
    bool chained = false;  // as ClaimReader has it
    // How long a claim waits for that name before it is refused: after a boot kubelet asks before the agent
    // has started, which takes some seconds, and after a refusal only a minute later. With what prepare may
    // wait for then, the API server for 10 s, it stays well within the 45 s that kubelet gives a call.
    std::chrono::milliseconds node_pool_patience{15'000};
    // The whole list is sent so often even if nothing has changed; kubelet forgets it after 30 s.
    std::chrono::milliseconds health_interval{10'000};
    // How often the API server is asked whether the claims that are prepared still exist.
    std::chrono::milliseconds reconcile_interval{300'000};
    Counters* counters = nullptr;  // outlive this; null: no metrics
  };

  // `api` and `log` outlive this.
  DraPublisher(Options options, ApiAgent& api, Log& log);
  ~DraPublisher() override;

  Result<> start(std::function<void()> wake) override;
  std::vector<int> fds() const override;
  void read() override;
  // Nothing is served before the first pools: a claim could not be prepared.
  bool follow(const std::vector<PublishedPool>& pools, Time now) override;
  Time run_due(Time now) override;
  // kubelet's pod-resources API knows of claims' devices, which KubeletPublisher asks.
  bool ask_in_use(Time) override { return false; }
  std::optional<Answer> take_answer() override { return std::nullopt; }
  std::vector<ResourceStatus> status() const override;
  void close(std::chrono::milliseconds patience) override;

 private:
  class Mailbox;
  struct Servers;

  void rewrite_claims();
  void reconcile_claims();
  void take_registrations(Time now);
  void send_health_if_due(Time now);
  void notice_node_pool();

  const GrpcLibrary grpc_;
  const Options options_;
  Log& log_;
  const std::shared_ptr<Mailbox> mailbox_;
  ClaimWork work_;
  ClaimWorkers workers_;
  std::unique_ptr<Servers> servers_;  // from start() on
  std::vector<FolderWatch> watches_;
  std::vector<PublishedPool> pools_;
  bool ready_ = false;  // there were pools
  bool named_ = false;  // node_pool() is known
  bool registered_ = false;
  std::string refusal_;  // kubelet's last
  HealthList health_;    // sent last
  Time health_due_{};
  Time reconcile_due_{};
};

}  // namespace vfrail::plugin
