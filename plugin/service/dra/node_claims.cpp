#include "plugin/service/dra/node_claims.h"

#include "common/errors/error_id.h"
#include "plugin/dra/claims_in_use.h"

#include <algorithm>

namespace vfrail::plugin {

void NodeClaims::read() {
  auto claims = read_claim_records(run_dir_);
  std::vector<Warning> now;
  if (claims) {
    now = std::move(claims->unread);
    records_ = std::move(claims->records);
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

std::set<std::string> NodeClaims::units_of(const std::string& resource) const {
  std::set<std::string> out;
  for (const ClaimRecord& claim : records_) {
    for (const ClaimRecord::Request& request : claim.requests) {
      for (const ClaimRecord::Device& one : request.devices) {
        if (one.resource == resource && one.step == 0) out.insert(one.unit);
      }
    }
  }
  return out;
}

}  // namespace vfrail::plugin
