#include "plugin/device/match/shared_links.h"

#include "common/errors/error_id.h"

namespace vfrail::plugin {

void each_shared_link(const Pools& pools, const SharedLinkVisit& visit) {
  for (const Pool& pool : pools.pools) {
    if (!shares(pool.config)) continue;
    for (const PoolDevice& device : pool.devices) {
      if (!device.facts.netdevs.empty()) visit(pool, device, device.facts.netdevs.front());
    }
  }
}

std::optional<Warning> describe_down_link(const Pool& pool, const PoolDevice& device,
                                          const std::string& why) {
  if (device.facts.link_type != "ether") return std::nullopt;  // InfiniBand works with its interface down
  const std::string& name = device.facts.netdevs.front().name;
  return Warning{pool.resource() + " shares " + device.id() + ", whose interface " + name +
                     " is administratively down, and RDMA over Ethernet needs it up" +
                     (why.empty() ? "" : ": " + why) + " (ip link set " + name + " up)",
                 ErrorId::admin_down, pool.resource(), device.id()};
}

std::vector<Warning> find_links_down(const Pools& pools, Reach reach) {
  std::vector<Warning> out;
  each_shared_link(pools, [&](const Pool& pool, const PoolDevice& device, const Netdev& netdev) {
    if (netdev.up) return;
    const bool out_of_reach = pool.config.set_links_up && reach == Reach::elsewhere;
    if (auto down = describe_down_link(pool, device, out_of_reach ? kHostOutOfReach : ""))
      out.push_back(*std::move(down));
  });
  return out;
}

}  // namespace vfrail::plugin
