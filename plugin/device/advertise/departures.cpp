#include "plugin/device/advertise/departures.h"

#include "plugin/device/advertise/device_places.h"
#include "plugin/device/match/health.h"

#include <algorithm>
#include <set>

namespace vfrail::plugin {

namespace {

bool is_partly_away(const PoolDevice* device) { return device != nullptr && device->facts.partly_away(); }

// As it was allocated, with the facts of now.
PoolDevice take_back(const PoolDevice& before, const DevicePlaces::Place& from,
                     const ResourceConfig& resource, DevicePlaces& places) {
  PoolDevice out = before;
  out.facts = places.take(from);
  out.fault = find_fault(out.facts, resource);
  return out;
}

void sort_by_address(Pool& pool) {
  std::stable_sort(pool.devices.begin(), pool.devices.end(), [](const PoolDevice& a, const PoolDevice& b) {
    return a.facts.address < b.facts.address;
  });
}

// kubelet names the units of a bundle, not its devices.
bool is_used(const Pool& pool, const std::string& id, const DevicesInUse& in_use) {
  if (pool.config.unit == UnitKind::bundle) return in_use.count(pool.resource()) > 0;
  return in_use.find(pool.resource(), id) != nullptr;
}

}  // namespace

bool Departures::stays(const Pool& pool, const std::string& id, Seen seen, const DevicesInUse* in_use,
                       Time since, Time now) {
  const bool asked = asked_ && *asked_ >= since;
  if (!asked && !last_failed_) {
    waiting_ = true;
    return true;
  }
  // Without an answer it may be a container's.
  const bool used = !asked || in_use == nullptr || is_used(pool, id, *in_use);
  // The other resource would offer it to a second container, however long the first one has it.
  if (seen == Seen::in_another_pool) return used;
  const Time end = since + move_;
  if (!used || now >= end) return false;
  waiting_ = waiting_ || !asked;
  next_ = std::min(next_.value_or(end), end);
  return true;
}

void Departures::hold(Pools& found, const std::vector<PublishedPool>& published, const DevicesInUse* in_use,
                      Time now) {
  waiting_ = false;
  next_.reset();
  std::vector<Pool>& pools = found.pools;
  DevicePlaces here(pools);
  std::set<Pool*> grown;
  std::set<std::string> unread;
  for (const UnreadDevice& device : found.unread) unread.insert(device.id);
  std::map<std::pair<std::string, std::string>, Time> still_away;
  for (const auto& before : published) {
    const auto pool = std::find_if(pools.begin(), pools.end(),
                                   [&](const Pool& one) { return one.resource() == before->resource(); });
    if (pool == pools.end() || shares(before->config) != shares(pool->config)) continue;
    const size_t count = pool->devices.size();
    for (const PoolDevice& device : before->devices) {
      const std::string id = device.id();
      if (unread.contains(id)) {
        pool->devices.push_back(device);
        continue;
      }
      if (shares(pool->config)) continue;  // no container has it for itself
      const auto* at = here.find(id);
      const bool elsewhere = at != nullptr && at->pool != &*pool && is_partly_away(here.device(*at)) &&
                             !device.fault.is_by_container() &&
                             (in_use == nullptr || in_use->find(at->pool->resource(), id) == nullptr);
      if (at != nullptr && !elsewhere) continue;
      const std::pair key{before->resource(), id};
      const auto known = since_.find(key);
      const Time since = known == since_.end() ? now : known->second;
      still_away.emplace(key, since);
      if (!stays(*before, id, elsewhere ? Seen::in_another_pool : Seen::nowhere, in_use, since, now))
        continue;
      pool->devices.push_back(elsewhere ? take_back(device, *at, pool->config, here) : device);
    }
    if (pool->devices.size() != count) grown.insert(&*pool);
  }
  here.remove_taken();
  for (Pool* pool : grown) sort_by_address(*pool);
  since_ = std::move(still_away);
}

void Departures::answered(Time asked) {
  asked_ = asked;
  last_failed_ = false;
}

}  // namespace vfrail::plugin
