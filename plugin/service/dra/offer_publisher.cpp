#include "plugin/service/dra/offer_publisher.h"

#include "common/errors/error_id.h"
#include "plugin/dra/claims_in_use.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

Result<> OfferPublisher::start(std::function<void()> wake) {
  link_.start(std::move(wake));
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
  resources_.clear();
  for (const PublishedPool& pool : pools_) resources_.push_back(pool->resource());
  link_.put(resources_, make_offer(pools_, held_, options_.offer, names_));
}

Publisher::Time OfferPublisher::run_due(Time) {
  const OfferLink::State link = link_.state();
  OfferState now{.driver = options_.offer.driver,
                 .instance = options_.instance,
                 .socket = options_.socket,
                 .resources = resources_,
                 .node = link.node,
                 .published = link.published,
                 .reason = link.reason,
                 .id = link.id};
  if (written_ == now) return Time::max();
  const auto done = write_offer_state(options_.run_dir, now);
  written_ = std::move(now);  // as in the file, or tried: the next change is the next try
  const std::string reason = done ? "" : done.error().text;
  if (reason != std::exchange(not_written_, reason) && !done)
    log_.warning("inspect and doctor cannot see what is published",
                 {{"reason", reason}, {"id", done.error().id_text()}});
  return Time::max();
}

void OfferPublisher::describe(NodeStatus& status) const {
  const OfferLink::State link = link_.state();
  status.offer = OfferStatus{
      .published = link.published, .not_published_id = link.id, .slices = link.slices, .writes = link.writes};
}

void OfferPublisher::close(std::chrono::milliseconds) {
  // Another instance has its own by now, or none is right.
  const auto removed = remove_offer_state(options_.run_dir, options_.instance);
  if (!removed) log_.debug("the state of the offer is not removed", {{"reason", removed.error().text}});
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
