// PublishedPool: a pool as it is published: it is immutable, all publishers (kubelet's services, metrics, any
// other front end) share it, and its units are made once and found by their ids. It is all that a publisher
// needs to know of the node.
#pragma once

#include "plugin/device/match/pools.h"
#include "plugin/device/match/units.h"

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vfrail::plugin {

class PublishedPool {
 public:
  PublishedPool(Pool pool = {});

  const Pool& operator*() const { return content_->pool; }
  const Pool* operator->() const { return &content_->pool; }
  const std::vector<Unit>& units() const { return content_->units; }
  // Null if it has none of that id. Valid as long as any copy of this lives.
  const Unit* find_unit(std::string_view id) const;

 private:
  struct Content {
    explicit Content(Pool published);
    Content(const Content&) = delete;
    const Pool pool;
    const std::vector<Unit> units;
    std::unordered_map<std::string_view, const Unit*> by_id;
  };
  std::shared_ptr<const Content> content_;
};

}  // namespace vfrail::plugin
