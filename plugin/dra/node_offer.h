// NodeOffer: what this node offers to the scheduler as of now, and who has the rest: pools and kubelet's
// answers in, the offer to the link out. Belongs to the owner thread.
#pragma once

#include "common/log.h"
#include "plugin/dra/offer.h"
#include "plugin/dra/offer_link.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

class NodeOffer {
 public:
  // All of them outlive this. `run_dir` has the records of claims.
  NodeOffer(OfferOptions options, std::string run_dir, OfferLink& link, Log& log)
      : options_(std::move(options)), run_dir_(std::move(run_dir)), link_(link), log_(log) {}

  // The units of these pools that go by claims, also those that are not offered because a pod of the device
  // plugin has them: it is a claim's once that pod has ended.
  std::vector<OfferedDevice> follow(const std::vector<PublishedPool>& pools);
  // Devices of our claims count as their resources'; what kubelet has under a resource already is the device
  // plugin's.
  void complete(DevicesInUse& in_use);

 private:
  void send();

  const OfferOptions options_;
  const std::string run_dir_;
  OfferLink& link_;
  Log& log_;
  std::vector<PublishedPool> pools_;
  DevicesInUse held_;  // by the device plugin
  KnownNames names_;
  std::string complaint_;
};

}  // namespace vfrail::plugin
