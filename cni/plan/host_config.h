// Which addresses and routes of a device are the host's own: what the kernel drops when the device moves into
// a pod, and does not make again by itself. Pure.
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/result.h"
#include "common/kernel/kernel.h"
#include "common/node/attachment_record.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// Of a device each. A record has room for some thousand; a host that has more on one device is a router,
// whose routes are those of a daemon.
inline constexpr size_t kMostHostAddresses = 256;
inline constexpr size_t kMostHostRoutes = 1024;

// Neither link-local, which the kernel makes again, nor on a lease, which whoever has it asks for again.
bool is_own(const LinkAddress& address);

struct HostConfig {
  std::vector<HostAddress> addresses;
  std::vector<Route> routes;      // in an order in which the kernel takes them
  std::vector<std::string> lost;  // what cannot be restored, in the words of ip(8)
};

// `routes`: those over the link. Without an address of the host's own there is nothing.
HostConfig host_config_of(const Link& link, const std::vector<LinkAddress>& addresses,
                          const std::vector<Route>& routes);

// With hostConfig move the pod has them, too: beside those that were assigned. Not the default routes: the
// pod's is that of its first interface.
void add_host_config(const LinkBefore& before, Assignment& assignment);

// Before 1.1.0 a result does not have the scope of a route: of those of the host it is put back, for CHECK.
void complete_host_routes(const LinkBefore& before, Assignment& of_result);

}  // namespace vfrail::cni
