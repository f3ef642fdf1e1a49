// Notice: what an administrator must see of a node before a pod fails by it: a resource that has lost all its
// devices, an orphaned device, a node that cannot be read. Pure, but for remembering what there was.
#pragma once

#include "plugin/observe/status/status.h"

#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct Notice {
  std::string reason;  // "ResourceEmpty", as Events have it
  std::string about;   // which one of several: the resource's name; empty: the node
  std::string text;    // object, cause and what to do
  bool operator==(const Notice&) const = default;
};

// A configuration with a thousand faulty entries has one cause.
inline constexpr size_t kMaxNotices = 32;

class NoticeFinder {
 public:
  // All that there are now, at most kMaxNotices.
  std::vector<Notice> find(const NodeStatus& status);

 private:
  // A node without a matching device, as one without such a card, has lost none and is not reported.
  std::set<std::string> had_units_;
};

}  // namespace vfrail::plugin
