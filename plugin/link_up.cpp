#include "plugin/link_up.h"

namespace vfrail {

Result<> LinksUp::set_up(const std::string& name) {
  const auto link = TRY(host_->find_link(name), "find it");
  if (!link) return Error{Errc::not_found, 0, "it is not in this network namespace"};
  LinkChange change;
  change.up = true;
  return host_->change_link(link->index, change);
}

std::string LinksUp::say_down(const Pool& pool, const PoolDevice& device, const std::string& why) const {
  const std::string& name = device.facts.netdevs.front().name;
  return text_with_id(pool.resource() + " shares " + device.id() + ", whose interface " + name +
                          " is administratively down, and RDMA over Ethernet needs it up" +
                          (why.empty() ? "" : ": " + why) + " (ip link set " + name + " up)",
                      ErrorId::admin_down);
}

std::vector<std::string> LinksUp::follow(const Pools& pools) {
  std::vector<std::string> out;
  for (const Pool& pool : pools.pools) {
    if (!shares(pool.config)) continue;
    for (const PoolDevice& device : pool.devices) {
      if (device.facts.netdevs.empty()) continue;
      const Netdev& netdev = device.facts.netdevs.front();
      const bool is_new = pool.config.set_links_up && seen_.insert(device.id() + " " + netdev.name).second;
      if (netdev.up) continue;
      std::string why;
      if (is_new && host_ == nullptr)
        why = "it cannot be set up from here, which is not the host's network namespace";
      if (is_new && host_ != nullptr) {
        const auto done = set_up(netdev.name);
        if (done) {
          log_.info("an interface of a shared device was down and is set up",
                    {{"interface", netdev.name}, {"device", device.id()}, {"resource", pool.resource()}});
          continue;
        }
        why = "it cannot be set up: " + done.error().text;
      }
      if (device.facts.link_type == "ether") out.push_back(say_down(pool, device, why));
    }
  }
  return out;
}

}  // namespace vfrail
