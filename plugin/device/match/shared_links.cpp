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

std::string describe_down_link(const Pool& pool, const PoolDevice& device, const std::string& why) {
  if (device.facts.link_type != "ether") return "";  // InfiniBand works with its interface down
  const std::string& name = device.facts.netdevs.front().name;
  return text_with_id(pool.resource() + " shares " + device.id() + ", whose interface " + name +
                          " is administratively down, and RDMA over Ethernet needs it up" +
                          (why.empty() ? "" : ": " + why) + " (ip link set " + name + " up)",
                      ErrorId::admin_down);
}

std::vector<std::string> find_links_down(const Pools& pools, Reach reach) {
  std::vector<std::string> out;
  each_shared_link(pools, [&](const Pool& pool, const PoolDevice& device, const Netdev& netdev) {
    if (netdev.up) return;
    const bool out_of_reach = pool.config.set_links_up && reach == Reach::elsewhere;
    std::string text = describe_down_link(pool, device, out_of_reach ? kHostOutOfReach : "");
    if (!text.empty()) out.push_back(std::move(text));
  });
  return out;
}

}  // namespace vfrail::plugin
