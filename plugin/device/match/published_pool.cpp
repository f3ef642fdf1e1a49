#include "plugin/device/match/published_pool.h"

#include <utility>

namespace vfrail::plugin {

PublishedPool::PublishedPool(Pool pool) : content_(std::make_shared<const Content>(std::move(pool))) {}

PublishedPool::Content::Content(Pool published) : pool(std::move(published)), units(make_units(pool)) {
  by_id.reserve(units.size());
  for (const Unit& unit : units) by_id.emplace(unit.id, &unit);
}

const Unit* PublishedPool::find_unit(std::string_view id) const {
  const auto at = content_->by_id.find(id);
  return at == content_->by_id.end() ? nullptr : at->second;
}

}  // namespace vfrail::plugin
