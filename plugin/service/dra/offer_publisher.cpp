#include "plugin/service/dra/offer_publisher.h"

#include "plugin/dra/claims_in_use.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

Result<> OfferPublisher::start(std::function<void()> wake) {
  link_.start(std::move(wake));
  return {};
}

bool OfferPublisher::follow(const std::vector<PublishedPool>& pools, Time) {
  pools_ = pools;
  // Before kubelet's first answer a device that a pod of the device plugin has cannot be known from a free
  // one.
  if (!knows_held_) return false;
  move_shared(nullptr);
  send();
  return false;
}

Publisher::Time OfferPublisher::run_due(Time now) {
  if (knows_held_ && sharing() != sharing_) {
    ask_at_ = {};
    claims_.read();
    // The other publishers may have had their turn.
    if (move_shared(nullptr)) return now;
  }
  write_state();
  // The publisher for kubelet has had its turn.
  if (notice_ended_claims(now)) return now;
  const Time next = waits_for_kubelet() ? ask_at_ : Time::max();
  return options_.drain && !claims_.records().empty() ? std::min(next, claims_at_) : next;
}

// kubelet asks for the release of a claim after its device is back in the host, so that no event of the
// device says it. True: one has ended.
bool OfferPublisher::notice_ended_claims(Time now) {
  if (!options_.drain || claims_.records().empty() || now < claims_at_) return false;
  claims_at_ = now + options_.claims_interval;
  const size_t before = claims_.records().size();
  claims_.read();
  return claims_.records().size() != before;
}

// Of the end of a pod of the device plugin no list for kubelet says anything, because it has none of these
// devices.
bool OfferPublisher::waits_for_kubelet() const {
  return !knows_held_ || shared_.is_waiting() ||
         std::any_of(pools_.begin(), pools_.end(), [this](const PublishedPool& pool) {
           return shared_.by_claims(pool->config) && held_.resources.contains(pool->resource());
         });
}

bool OfferPublisher::needs_in_use(Time now) {
  if (!waits_for_kubelet() || now < ask_at_) return false;
  // Until its first answer nothing is offered, and no claim prepared; after a boot it may not answer yet.
  ask_at_ = now + (knows_held_ ? options_.ask_interval : options_.first_ask_interval);
  return true;
}

Sharing OfferPublisher::sharing() const {
  const OfferLink::State state = link_.state();
  if (state.sharing) return Sharing::kept;
  // What is published has been tried out before.
  return state.published ? Sharing::dropped : Sharing::unknown;
}

bool OfferPublisher::move_shared(const DevicesInUse* held) {
  sharing_ = sharing();
  const bool moved = shared_.follow(pools_, sharing_, held, claims_.records());
  if (moved) send();
  return moved;
}

bool OfferPublisher::by_claims(const ResourceConfig& resource) const {
  if (options_.drain) {
    const OfferLink::State state = link_.state();
    if (state.published && state.devices == 0) return false;
  }
  return shared_.by_claims(resource);
}

void OfferPublisher::send() {
  resources_.clear();
  if (options_.drain) return link_.put({}, {});
  std::vector<PublishedPool> offered;
  for (const PublishedPool& pool : pools_) {
    if (!shared_.by_claims(pool->config)) continue;
    offered.push_back(pool);
    resources_.push_back(pool->resource());
  }
  read_port_details(options_.sys, offered, ports_);
  link_.put(resources_, make_offer(offered, held_, options_.offer, names_, ports_));
}

void OfferPublisher::write_state() {
  const OfferLink::State link = link_.state();
  file_.put({.driver = options_.offer.driver,
             .instance = options_.instance,
             .socket = options_.socket,
             .resources = resources_,
             .node = link.node,
             .published = link.published,
             .reason = link.reason,
             .id = link.id});
}

void OfferPublisher::describe(NodeStatus& status) const {
  const OfferLink::State link = link_.state();
  status.offer = OfferStatus{
      .published = link.published, .not_published_id = link.id, .slices = link.slices, .writes = link.writes};
}

void OfferPublisher::close(std::chrono::milliseconds) { file_.remove(options_.instance); }

void OfferPublisher::complete(DevicesInUse& in_use) {
  const bool is_first = !std::exchange(knows_held_, true);
  const bool changed = is_first || in_use.resources != held_.resources;
  // Whole, because at the start kubelet answers before the pools are read.
  held_ = in_use;
  claims_.read();
  resolve_claims(claims_.records(), in_use);
  move_shared(&held_);
  if (changed) send();
}

}  // namespace vfrail::plugin
