#include "plugin/dra/node_offer.h"

#include "common/errors/error_id.h"
#include "plugin/dra/claims_in_use.h"

#include <utility>

namespace vfrail::plugin {

std::vector<OfferedDevice> NodeOffer::follow(const std::vector<PublishedPool>& pools) {
  pools_ = pools;
  send();
  return make_offer(pools_, {}, options_, names_);
}

void NodeOffer::send() {
  std::vector<std::string> resources;
  for (const PublishedPool& pool : pools_) {
    if (goes_by_claims(pool->config)) resources.push_back(pool->resource());
  }
  link_.put(resources, make_offer(pools_, held_, options_, names_));
}

void NodeOffer::complete(DevicesInUse& in_use) {
  DevicesInUse held;
  for (const PublishedPool& pool : pools_) {
    const auto at = in_use.resources.find(pool->resource());
    if (at != in_use.resources.end() && goes_by_claims(pool->config)) held.resources.insert(*at);
  }
  const bool changed = held.resources != held_.resources;
  held_ = std::move(held);
  const auto records = read_claim_records(run_dir_);
  if (records) resolve_claims(*records, in_use);
  if (!records && records.error().text != complaint_)
    log_.warning("which claims are prepared is not known",
                 {{"reason", records.error().text}, {"id", records.error().id_text()}});
  complaint_ = records ? std::string() : records.error().text;
  if (changed) send();
}

}  // namespace vfrail::plugin
