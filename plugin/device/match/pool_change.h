// PoolChange: the difference between two lists of a resource, for the log. Pure.
#pragma once

#include "plugin/device/match/pools.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct PoolChange {
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<std::string> failed;     // there before, healthy then
  std::vector<std::string> recovered;  // there before, unhealthy then

  bool empty() const { return added.empty() && removed.empty() && failed.empty() && recovered.empty(); }
  // "+2 -1 devices, 1 unhealthy, 3 healthy again"; "the same devices" if nothing of these.
  std::string text() const;
};

PoolChange compare(const Pool& before, const Pool& after);

}  // namespace vfrail::plugin
