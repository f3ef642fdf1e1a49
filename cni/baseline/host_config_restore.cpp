#include "cni/baseline/host_config_restore.h"

#include "cni/node/find_link.h"
#include "common/errors/error_id.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace vfrail::cni {

namespace {

// Twice the time of duplicate address detection with the kernel's defaults, as in the pod.
constexpr std::chrono::milliseconds kHostDadTimeout{5000};

// Once more after a failure: the kernel can be out of memory for a moment, and no DEL comes after this one.
template <class Add>
Result<> add_twice(const Add& add) {
  auto added = add();
  if (added || added.error().sys == EEXIST) return {};
  auto again = add();
  return again || again.error().sys == EEXIST ? Result<>() : again;
}

void warn_of(const std::string& what, const std::string& text, const Error& error, const Record& record,
             const Link& link, World& world) {
  world.log.warning(what + " that the host had on the interface is not restored",
                    {{"device", record.device_key},
                     {"interface", link.name},
                     {"lost", text},
                     {"reason", error.text},
                     {"id", id_text(ErrorId::host_config_lost)}});
}

// Off by default for the interfaces of this host, and on for this one, which had such an address: the setting
// does not survive the move.
Result<> enable_ipv6(const Link& link, Kernel& host) {
  const std::string name = "ipv6/conf/" + link.name + "/disable_ipv6";
  return TRY(host.read_sysctl(name)) == "1" ? host.write_sysctl(name, "0") : Result<>();
}

Result<> restore_addresses(const Record& record, const Link& link, World& world) {
  const auto have = TRY(world.host.addresses(link.index));
  for (const HostAddress& one : record.link->addresses) {
    const auto is_it = [&](const LinkAddress& now) { return now.address == one.address; };
    if (std::any_of(have.begin(), have.end(), is_it)) continue;
    if (one.address.v6()) TRY(enable_ipv6(link, world.host));
    const auto added =
        add_twice([&] { return world.host.add_address(link.index, one.address, one.settings); });
    if (!added) warn_of("an address", one.address.cidr(), added.error(), record, link, world);
  }
  return {};
}

// The kernel takes no route from a tentative address. Without a carrier the detection does not even start.
Result<> wait_for_sources(const std::vector<Route>& routes, const Link& link, World& world) {
  const bool any = std::any_of(routes.begin(), routes.end(),
                               [](const Route& route) { return route.source && route.source->v6(); });
  if (!any) return {};
  TRY(world.host.wait_for_dad(link.index, std::chrono::steady_clock::now() + kHostDadTimeout));
  return {};
}

// What makes it the same for the kernel, which would add it a second time in front of the other.
bool is_same(const Route& a, const Route& b) {
  return a.destination == b.destination && a.gateway == b.gateway && a.table == b.table && a.tos == b.tos &&
         a.priority.value_or(0) == b.priority.value_or(0);
}

Result<> restore_routes(const Record& record, const Link& link, World& world) {
  const std::vector<Route>& routes = record.link->routes;
  TRY(wait_for_sources(routes, link, world));
  const auto have = TRY(world.host.routes(link.index));
  for (Route route : routes) {
    if (std::any_of(have.begin(), have.end(), [&](const Route& now) { return is_same(now, route); }))
      continue;
    route.link = link.index;
    const auto added = add_twice([&] { return world.host.add_route(route); });
    if (!added) warn_of("a route", route.text(), added.error(), record, link, world);
  }
  return {};
}

}  // namespace

Result<> restore_host_config(const Record& record, World& world) {
  if (!record.link || record.link->addresses.empty()) return {};
  const auto link = TRY(find_link_in_host(record, world));
  if (!link) return {};
  TRY(restore_addresses(record, *link, world));
  return record.link->routes.empty() ? Result<>() : restore_routes(record, *link, world);
}

}  // namespace vfrail::cni
