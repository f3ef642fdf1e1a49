#include "plugin/match/departures.h"

#include <algorithm>
#include <set>

namespace vfrail {

namespace {

std::set<std::string> ids_of(const std::vector<Pool>& pools) {
  std::set<std::string> out;
  for (const Pool& pool : pools) {
    if (shares(pool.config)) continue;
    for (const PoolDevice& device : pool.devices) out.insert(device.id());
  }
  return out;
}

// kubelet names the units of a bundle, not its devices.
bool is_used(const Pool& pool, const std::string& id, const DevicesInUse& in_use) {
  if (pool.config.unit == UnitKind::bundle) return in_use.count(pool.resource()) > 0;
  return in_use.find(pool.resource(), id) != nullptr;
}

}  // namespace

bool Departures::stays(const Pool& pool, const std::string& id, const DevicesInUse* in_use, Time since,
                       Time now) {
  const bool asked = asked_ && *asked_ >= since;
  if (!asked && !last_failed_) {
    waiting_ = true;
    return true;
  }
  // Without an answer it may be a container's.
  const bool used = !asked || in_use == nullptr || is_used(pool, id, *in_use);
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
  const std::set<std::string> here = ids_of(pools);
  std::set<std::string> unread;
  for (const UnreadDevice& device : found.unread) unread.insert(device.id);
  std::map<std::pair<std::string, std::string>, Time> still_away;
  for (const auto& before : published) {
    const auto pool = std::find_if(pools.begin(), pools.end(),
                                   [&](const Pool& one) { return one.resource() == before->resource(); });
    if (pool == pools.end() || shares(before->config) || shares(pool->config)) continue;
    const size_t count = pool->devices.size();
    for (const PoolDevice& device : before->devices) {
      const std::string id = device.id();
      if (here.contains(id)) continue;
      if (unread.contains(id)) {
        pool->devices.push_back(device);
        continue;
      }
      const std::pair key{before->resource(), id};
      const auto known = since_.find(key);
      const Time since = known == since_.end() ? now : known->second;
      still_away.emplace(key, since);
      if (stays(*before, id, in_use, since, now)) pool->devices.push_back(device);
    }
    if (pool->devices.size() == count) continue;
    std::stable_sort(
        pool->devices.begin(), pool->devices.end(),
        [](const PoolDevice& a, const PoolDevice& b) { return a.facts.address < b.facts.address; });
  }
  since_ = std::move(still_away);
}

void Departures::answered(Time asked) {
  asked_ = asked;
  last_failed_ = false;
}

}  // namespace vfrail
