#include "plugin/service/dra/offer_publisher.h"

#include "common/errors/error_id.h"
#include "plugin/dra/claims_in_use.h"

#include <algorithm>
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

void OfferPublisher::resolve(DevicesInUse& in_use) {
  const auto claims = read_claim_records(options_.run_dir);
  if (claims) resolve_claims(claims->records, in_use);
  std::vector<Warning> now;
  if (claims) {
    now = claims->unread;
  } else {
    now.push_back({claims.error().text, claims.error().id()});
  }
  for (const Warning& one : now) {
    if (std::find(complaints_.begin(), complaints_.end(), one) == complaints_.end())
      log_.warning("which claims are prepared is not known completely",
                   {{"reason", one.text}, {"id", id_text(one.id)}});
  }
  complaints_ = std::move(now);
}

void OfferPublisher::complete(DevicesInUse& in_use) {
  DevicesInUse held;
  for (const PublishedPool& pool : pools_) {
    const auto at = in_use.resources.find(pool->resource());
    if (at != in_use.resources.end()) held.resources.insert(*at);
  }
  const bool changed = held.resources != held_.resources || !std::exchange(knows_held_, true);
  held_ = std::move(held);
  resolve(in_use);
  if (changed) send();
}

}  // namespace vfrail::plugin
