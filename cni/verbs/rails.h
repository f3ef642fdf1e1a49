// ADD, DEL and CHECK of several devices by one call: of a unit (cni/plan/rails.h), or of the pod's claims
// (cni/plan/claim_rails.h). The verbs of verbs.h for each of them, all of them at once. An ADD that fails for
// one has attached none.
#pragma once

#include "cni/conf/request.h"
#include "cni/node/world.h"

#include <functional>
#include <string>

namespace vfrail::cni {

struct OwnWorlds {
  // Runs the work with a World of its own, whose log has the name of the rail's interface.
  std::function<Result<>(const std::string& ifname, const std::function<Result<>(World&)>& work)> run;
  bool at_once = true;  // each rail in a thread of its own
};

// Whether the configuration names a unit, as Multus does for one, or the pod's claims, and no device.
bool names_several(const Request& request);
// Whether a DEL can be that of several: the configuration names them, or no device at all, as when Multus has
// lost its cache, or it is refused. Then the records say which there are.
bool may_have_rails(const Request& request);

Result<> add_rails(const Request& request, World& world, const OwnWorlds& worlds);
Result<> del_rails(const Request& request, World& world, const OwnWorlds& worlds);
Result<> check_rails(const Request& request, World& world, const OwnWorlds& worlds);

}  // namespace vfrail::cni
