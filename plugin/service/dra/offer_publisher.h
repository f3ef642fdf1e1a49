// OfferPublisher: the pools as devices for the scheduler: what of them is free for claims goes to
// vfrail-kube, which publishes it as ResourceSlices. Prepares nothing, which DraPublisher does for kubelet.
#pragma once

#include "common/errors/warning.h"
#include "common/log.h"
#include "plugin/dra/offer.h"
#include "plugin/dra/offer_link.h"
#include "plugin/dra/offer_state.h"
#include "plugin/publish/publisher.h"

#include <optional>
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
  };

  // `log` outlives it.
  OfferPublisher(const Options& options, Log& log)
      : options_(options),
        link_({.socket = options.socket, .driver = options.offer.driver}, log),
        log_(log) {}

  Result<> start(std::function<void()> wake) override;
  bool follow(const std::vector<PublishedPool>& pools, Time now) override;
  // Writes the state of the offer for the commands of this node.
  Time run_due(Time now) override;
  // kubelet knows, and DraPublisher's records say what the names of claims mean.
  bool ask_in_use(Time) override { return false; }
  std::optional<Answer> take_answer() override { return std::nullopt; }
  // Devices of our claims count as their resources'. What kubelet has under a resource already is of its
  // device plugin, and not offered until that pod has ended.
  void complete(DevicesInUse& in_use) override;
  std::vector<ResourceStatus> status() const override { return {}; }
  void describe(NodeStatus& status) const override;
  // The offer stays: another instance of this takes it over.
  void close(std::chrono::milliseconds patience) override;

  // The name of this node's pool; empty: vfrail-kube has not answered yet. On any thread.
  std::string node_pool() const { return link_.state().node; }

 private:
  void send();
  void resolve(DevicesInUse& in_use);

  const Options options_;
  OfferLink link_;
  Log& log_;
  std::vector<PublishedPool> pools_;  // those that go by claims
  DevicesInUse held_;                 // by the device plugin
  bool knows_held_ = false;
  KnownNames names_;
  std::vector<std::string> resources_;  // of the last offer
  std::optional<OfferState> written_;
  std::string not_written_;          // why, as it was logged
  std::vector<Warning> complaints_;  // of the last answer
};

}  // namespace vfrail::plugin
