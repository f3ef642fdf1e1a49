#include "plugin/service/dra/offer_publisher.h"

#include "common/errors/error_id.h"
#include "plugin/dra/claims_in_use.h"

#include <utility>

namespace vfrail::plugin {

Result<> OfferPublisher::start(std::function<void()>) {
  link_.start();
  return {};
}

bool OfferPublisher::follow(const std::vector<PublishedPool>& pools, Time) {
  pools_.clear();
  for (const PublishedPool& pool : pools) {
    if (goes_by_claims(pool->config)) pools_.push_back(pool);
  }
  // Before kubelet's first answer a device that a pod of the device plugin has cannot be known from a free
  // one.
  if (knows_held_) send();
  return false;
}

void OfferPublisher::send() {
  std::vector<std::string> resources;
  for (const PublishedPool& pool : pools_) resources.push_back(pool->resource());
  link_.put(resources, make_offer(pools_, held_, options_.offer, names_));
}

void OfferPublisher::complete(DevicesInUse& in_use) {
  DevicesInUse held;
  for (const PublishedPool& pool : pools_) {
    const auto at = in_use.resources.find(pool->resource());
    if (at != in_use.resources.end()) held.resources.insert(*at);
  }
  const bool changed = held.resources != held_.resources || !std::exchange(knows_held_, true);
  held_ = std::move(held);
  const auto records = read_claim_records(options_.run_dir);
  if (records) resolve_claims(*records, in_use);
  if (!records && records.error().text != complaint_)
    log_.warning("which claims are prepared is not known",
                 {{"reason", records.error().text}, {"id", records.error().id_text()}});
  complaint_ = records ? std::string() : records.error().text;
  if (changed) send();
}

}  // namespace vfrail::plugin
