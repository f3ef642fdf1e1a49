// OfferPublisher: the pools as devices for the scheduler: what of them is free for claims goes to
// vfrail-kube, which publishes it as ResourceSlices; SharedSwitch decides which shared pools do. Prepares
// nothing, which DraPublisher does for kubelet, and of claims knows what NodeClaims has read.
#pragma once

#include "common/log.h"
#include "plugin/dra/offer.h"
#include "plugin/dra/offer_link.h"
#include "plugin/dra/shared_switch.h"
#include "plugin/publish/publisher.h"
#include "plugin/service/dra/node_claims.h"
#include "plugin/service/dra/offer_file.h"

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

class OfferPublisher final : public Publisher {
 public:
  struct Options {
    OfferOptions offer;
    std::string socket;         // of vfrail-kube
    std::string run_dir;        // with the records of claims
    std::string instance = {};  // uid of the pod that this runs in; empty: the only one on the node
    bool drain = false;         // nothing is offered any more
    // While it drains: how often the end of claims is noticed, whose devices kubelet has then.
    std::chrono::milliseconds claims_interval{5'000};
    SysRoot sys{"/"};
    // How often the agent is given the offer even if nothing has changed.
    std::chrono::milliseconds repeat{10'000};
    // How often kubelet is asked whether the pods have ended whose devices it gave them by its device plugin.
    std::chrono::milliseconds ask_interval{15'000};
    // The same until it has answered once.
    std::chrono::milliseconds first_ask_interval{2'000};
  };

  // `shared` and `log` outlive it.
  OfferPublisher(const Options& options, SharedSwitch& shared, Log& log)
      : options_(options),
        shared_(shared),
        link_({.socket = options.socket, .driver = options.offer.driver, .repeat = options.repeat}, log),
        file_(options.run_dir, log),
        claims_(options.run_dir, log) {}

  Result<> start(std::function<void()> wake) override;
  bool follow(const std::vector<PublishedPool>& pools, Time now) override;
  // Writes the state of the offer for the commands of this node, too.
  Time run_due(Time now) override;
  // kubelet knows, and DraPublisher's records say what the names of claims mean.
  bool ask_in_use(Time) override { return false; }
  bool needs_in_use(Time now) override;
  std::optional<Answer> take_answer() override { return std::nullopt; }
  // Devices of our claims count as their resources'. What kubelet has under a resource already is of its
  // device plugin, and not offered until that pod has ended.
  void complete(DevicesInUse& in_use) override;
  std::vector<ResourceStatus> status() const override { return {}; }
  void describe(NodeStatus& status) const override;
  // The offer stays: another instance of this takes it over.
  void close(std::chrono::milliseconds patience) override;

  // Whether pods get the resource by claims. While it drains until the slices are empty: then kubelet's
  // device plugin has all resources again.
  bool by_claims(const ResourceConfig& resource) const;
  // Units that pods have by claims, each alone, as far as kubelet's last answer shows.
  std::set<std::string> claimed(const ResourceConfig& resource) const {
    return claims_.units_of(resource.resource());
  }
  // The name of this node's pool; empty: vfrail-kube has not answered yet. On any thread.
  std::string node_pool() const { return link_.state().node; }

 private:
  Sharing sharing() const;
  // Whether pods of the device plugin have what is to be offered, or that is not known yet.
  bool waits_for_kubelet() const;
  // `held` is null where kubelet's last answer is too old to move a pool by: a pod may have got a share
  // since.
  // True: one has moved.
  bool move_shared(const DevicesInUse* held);
  bool notice_ended_claims(Time now);
  void send();
  void write_state();

  const Options options_;
  SharedSwitch& shared_;
  OfferLink link_;
  OfferFile file_;
  NodeClaims claims_;
  std::vector<PublishedPool> pools_;  // all
  DevicesInUse held_;                 // by device plugins, of this program and of others
  bool knows_held_ = false;
  Sharing sharing_ = Sharing::unknown;  // by which was decided last
  Time claims_at_{};                    // when they are read again, while it drains
  Time ask_at_{};                       // while it waits for kubelet
  KnownNames names_;
  PortsByFunction ports_;
  std::vector<std::string> resources_;  // of the last offer
};

}  // namespace vfrail::plugin
