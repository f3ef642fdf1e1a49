// ListedRoutes: of the routes that the kernel lists those that are asked for, kept as they come: a router has
// a million of them. Pure.
#pragma once

#include "common/netlink/parse.h"

#include <vector>

namespace vfrail {

struct ListedRoutes {
  int link = 0;               // of this interface; 0: of any
  bool default_only = false;  // without those to a network
  std::vector<Route> direct = {};
  std::vector<Route> over_objects = {};  // their interface is that of a next hop object, so not known yet

  Result<> add(NlBytes message);
  // All routes. Errc::busy if the next hop object of one is not in `objects`.
  Result<std::vector<Route>> resolve(const std::vector<NextHop>& objects) const;
};

}  // namespace vfrail
