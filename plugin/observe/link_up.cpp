#include "plugin/observe/link_up.h"

#include "plugin/device/match/shared_links.h"

#include <utility>

namespace vfrail::plugin {

namespace {

Result<> set_up_by(Kernel& host, const std::string& name) {
  const auto link = TRY(host.find_link(name));
  if (!link) return Error{Errc::not_found, 0, name + " is not in this network namespace"};
  LinkChange change;
  change.up = true;
  return host.change_link(link->index, change);
}

}  // namespace

Result<> LinksUp::set_up(const std::string& name) {
  if (host_ == nullptr) return Error{Errc::wrong_netns, 0, kHostOutOfReach};
  auto done = set_up_by(*host_, name);
  if (done) return done;
  const bool denied = done.error().code == Errc::denied;
  return Error(done.error())
      .in(denied ? "it cannot be brought up without the capability NET_ADMIN" : "it cannot be brought up");
}

std::vector<Warning> LinksUp::follow(const Pools& pools) {
  std::vector<Warning> out;
  std::set<std::string> brought_up;  // which several resources can share
  each_shared_link(pools, [&](const Pool& pool, const PoolDevice& device, const Netdev& netdev) {
    const std::string key = device.id() + " " + netdev.name;
    if (netdev.up) settled_.insert(key);
    if (netdev.up || brought_up.contains(key)) return;
    std::string why;
    if (pool.config.set_links_up && !settled_.contains(key)) {
      const auto done = set_up(netdev.name);
      if (done) {
        settled_.insert(key);
        brought_up.insert(key);
        log_.info("the interface of a shared device was down and was brought up",
                  {{"interface", netdev.name}, {"device", device.id()}, {"resource", pool.resource()}});
        return;
      }
      why = done.error().text;
    }
    if (auto down = describe_down_link(pool, device, why)) out.push_back(*std::move(down));
  });
  return out;
}

}  // namespace vfrail::plugin
