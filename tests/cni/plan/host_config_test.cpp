// cni/plan/host_config.h: which addresses and routes of a device are the host's own.
#include "cni/plan/host_config.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

IpAddress ip(const std::string& text) { return *IpAddress::parse_cidr(text); }

LinkAddress address(const std::string& text) { return {.address = ip(text)}; }

Route route(const std::string& to, const std::string& via = "", uint8_t protocol = 3) {
  Route out;
  out.destination = ip(to);
  if (!via.empty()) out.gateway = *IpAddress::parse(via);
  out.protocol = protocol;
  return out;
}

struct Situation {
  Link link;
  std::vector<LinkAddress> addresses = {address("10.9.0.2/24")};
  std::vector<Route> routes;

  Situation() { link.name = "vf1"; }
  HostConfig config() const { return host_config_of(link, addresses, routes); }
  // The destinations of the routes that are recorded.
  std::vector<std::string> recorded() const {
    std::vector<std::string> out;
    for (const Route& one : config().routes) out.push_back(one.destination.cidr());
    return out;
  }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("Link-local addresses and those on a lease are not the host's own") {
  Situation s;
  s.addresses.push_back(address("fe80::1/64"));
  s.addresses.push_back({.address = ip("10.8.0.7/24"), .permanent = false});
  s.addresses.push_back({.address = ip("fd09::7/64"), .temporary = true});
  s.addresses.front().settings.label = "vf1";
  const HostConfig config = s.config();
  REQUIRE(config.addresses.size() == 1);
  CHECK(config.addresses[0].address.cidr() == "10.9.0.2/24");
  CHECK(config.addresses[0].settings.label.empty());
}

TEST_CASE("Routes that the kernel, a router or a lease made are not the host's own") {
  Situation s;
  s.addresses.push_back({.address = ip("10.8.0.7/24"), .permanent = false});
  constexpr uint8_t kKernel = 2;
  constexpr uint8_t kAdvertised = 9;
  constexpr uint8_t kDhcp = 16;
  s.routes = {route("10.9.0.0/24", "", kKernel), route("fd00::/64", "", kAdvertised),
              route("10.3.0.0/16", "10.8.0.1", kDhcp), route("10.4.0.0/16", "10.9.0.1")};
  Route leased = route("10.5.0.0/16", "10.8.0.1");
  leased.source = *IpAddress::parse("10.8.0.7");
  s.routes.push_back(leased);
  CHECK(s.recorded() == Texts{"10.4.0.0/16"});
}

TEST_CASE("The route to the network of an address with noprefixroute is recorded, whoever made it") {
  Situation s;
  s.addresses.front().settings.no_prefix_route = true;
  s.routes = {route("10.9.0.0/24", "", 2), route("10.8.0.0/24", "", 2)};
  CHECK(s.recorded() == Texts{"10.9.0.0/24"});
}

TEST_CASE("Routes on the link come before those through a gateway") {
  Situation s;
  s.routes = {route("10.1.0.0/16", "10.7.0.1"), route("10.7.0.1/32"), route("10.2.0.0/16", "10.7.0.1")};
  for (Route& one : s.routes) one.link = 7;
  // As it is read back of a record, else a roll-back would take the record for another one's.
  CHECK(s.config().routes.front().link == 0);
  CHECK(s.recorded() == Texts{"10.7.0.1/32", "10.1.0.0/16", "10.2.0.0/16"});
}

TEST_CASE("What cannot be restored is named: compound routes, and more than a record has room for") {
  Situation s;
  s.routes = {route("10.1.0.0/16", "10.9.0.1")};
  s.routes.front().is_compound = true;
  s.routes.front().priority = 7;
  CHECK(s.config().lost == Texts{"10.1.0.0/16 via 10.9.0.1 metric 7"});
  s.routes.assign(kMostHostRoutes + 1, route("10.2.0.0/16"));
  CHECK(s.config().routes.size() == kMostHostRoutes);
  CHECK(s.config().lost == Texts{"10.2.0.0/16"});
  s.addresses.assign(kMostHostAddresses + 1, address("10.9.0.2/24"));
  CHECK(s.config().addresses.size() == kMostHostAddresses);
  CHECK(s.config().lost.size() == 2);
}

TEST_CASE("Without an address of the host's own nothing is recorded") {
  Situation s;
  s.addresses = {address("fe80::1/64")};
  s.routes = {route("10.1.0.0/16")};
  CHECK(s.config().routes.empty());
  CHECK(s.config().lost.empty());
}

TEST_CASE("A pod gets the host's addresses and routes beside its own, but no default route") {
  LinkBefore before;
  before.addresses = {{ip("10.9.0.2/24")}, {ip("10.7.0.5/24")}};
  before.routes = {route("10.9.0.0/24", "", 2), route("10.6.0.0/16"), route("10.5.0.0/16", "10.9.0.1"),
                   route("0.0.0.0/0", "10.9.0.1")};
  before.routes[2].source = *IpAddress::parse("10.9.0.2");
  before.routes[2].onlink = true;
  before.routes[1].source = *IpAddress::parse("10.8.0.1");  // of another interface of the host
  Assignment assignment;
  assignment.ips = {{ip("10.7.0.5/24"), *IpAddress::parse("10.7.0.1")}};
  add_host_config(before, assignment);
  REQUIRE(assignment.ips.size() == 2);
  CHECK(assignment.ips[1].address.cidr() == "10.9.0.2/24");
  CHECK_FALSE(assignment.ips[1].gateway);
  REQUIRE(assignment.routes.size() == 2);
  CHECK(assignment.routes[0].destination.cidr() == "10.6.0.0/16");
  CHECK(assignment.routes[0].scope == 253);  // else the assigned gateway would be its own
  CHECK_FALSE(assignment.routes[0].source);
  CHECK(assignment.routes[1].source->text() == "10.9.0.2");
  CHECK(assignment.routes[1].onlink);
}

}  // namespace vfrail
