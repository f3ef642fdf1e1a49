// LinksUp: sets the interfaces of shared devices up, as k8s-rdma-shared-dev-plugin does at its start: a RoCE
// port has no address, and its RDMA device no use, while its interface is administratively down. Once for
// each interface: whoever sets it down after it was up has a reason. Changes nothing else.
#pragma once

#include "common/errors/warning.h"
#include "common/kernel/kernel.h"
#include "common/log.h"
#include "plugin/device/match/pools.h"

#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

class LinksUp {
 public:
  // `host` is the kernel of the host's network namespace, and outlives the object; null if it is not
  // accessible from here.
  LinksUp(Kernel* host, Log& log) : host_(host), log_(log) {}

  // A warning for each Ethernet device that is shared and whose interface stays down, with the reason if it
  // was to be set up. What fails is tried again the next time.
  std::vector<Warning> follow(const Pools& pools);

 private:
  Result<> set_up(const std::string& name);

  Kernel* host_;
  Log& log_;
  std::set<std::string> settled_;  // "0000:3b:00.0 eth2": it was up, perhaps by us
};

}  // namespace vfrail::plugin
