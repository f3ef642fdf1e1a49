// cni/plan/routing.h: which routes and rules an assignment makes.
#include "cni/plan/routing.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

IpAddress cidr(const char* text) { return *IpAddress::parse_cidr(text); }

AssignedIp ip(const char* address, const char* gateway = nullptr) {
  return {cidr(address), gateway == nullptr ? std::nullopt : IpAddress::parse(gateway)};
}

AssignedRoute to(const char* destination) {
  AssignedRoute out;
  out.destination = cidr(destination);
  return out;
}

// "10.0.0.0/8 via 10.1.0.1 table 100", in order.
std::vector<std::string> words(const Assignment& assignment, std::optional<uint32_t> own_table) {
  std::vector<std::string> out;
  for (const Route& route : routes_of(assignment, 7, own_table)) {
    CHECK(route.link == 7);
    out.push_back(route.destination.cidr() + (route.gateway ? " via " + route.gateway->text() : "") +
                  " table " + std::to_string(route.table));
  }
  return out;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("Without source routing the assigned routes are in the main table or in the table they name") {
  Assignment assignment{
      {ip("10.1.2.3/16", "10.1.0.1"), ip("fd00::2/64")}, {to("0.0.0.0/0"), to("fd01::/64")}, {}};
  assignment.routes.push_back(to("10.9.0.0/16"));
  assignment.routes.back().table = 77;
  assignment.routes.push_back(to("10.8.0.0/16"));
  assignment.routes.back().scope = 253;
  CHECK(words(assignment, std::nullopt) == Words{"fd01::/64 table 254", "10.8.0.0/16 table 254",
                                                 "0.0.0.0/0 via 10.1.0.1 table 254",
                                                 "10.9.0.0/16 via 10.1.0.1 table 77"});
}

TEST_CASE("With source routing the default route is in the own table only, and the others are in both") {
  Assignment assignment{{ip("10.1.2.3/16", "10.1.0.1")}, {to("0.0.0.0/0"), to("10.0.0.0/8")}, {}};
  assignment.routes[0].mtu = 1400;
  CHECK(words(assignment, 100) == Words{"10.1.0.0/16 table 100", "0.0.0.0/0 via 10.1.0.1 table 100",
                                        "10.0.0.0/8 via 10.1.0.1 table 254",
                                        "10.0.0.0/8 via 10.1.0.1 table 100"});
  CHECK(routes_of(assignment, 7, 100)[1].mtu == 1400U);
}

TEST_CASE("With source routing a gateway is the default route of its family, assigned or not") {
  const Assignment assignment{{ip("10.1.2.3/16", "10.1.0.1"), ip("fd00::2/64", "fd00::1")}, {}, {}};
  CHECK(words(assignment, 100) == Words{"10.1.0.0/16 table 100", "fd00::/64 table 100", "fe80::/64 table 100",
                                        "0.0.0.0/0 via 10.1.0.1 table 100", "::/0 via fd00::1 table 100"});
}

TEST_CASE(
    "A route on the link to a gateway outside the address's network comes before the routes through it") {
  // As clouds assign it: a host address, a route to its gateway, and that route not first.
  Assignment assignment{{ip("10.64.0.5/32")}, {to("0.0.0.0/0"), to("10.64.0.1/32")}, {}};
  assignment.routes[0].gateway = IpAddress::parse("10.64.0.1");
  assignment.routes[1].scope = 253;
  CHECK(words(assignment, std::nullopt) ==
        Words{"10.64.0.1/32 table 254", "0.0.0.0/0 via 10.64.0.1 table 254"});
  CHECK(words(assignment, 100) == Words{"10.64.0.5/32 table 100", "10.64.0.1/32 table 254",
                                        "10.64.0.1/32 table 100", "0.0.0.0/0 via 10.64.0.1 table 100"});
  assignment.ips[0].gateway = IpAddress::parse("10.64.0.1");
  CHECK(words(assignment, 100) == Words{"10.64.0.5/32 table 100", "10.64.0.1/32 table 254",
                                        "10.64.0.1/32 table 100", "0.0.0.0/0 via 10.64.0.1 table 100"});
  for (const Route& route : routes_of(assignment, 7, 100)) CHECK_FALSE(route.onlink);
}

TEST_CASE("The gateway of a host address is on the link where no route reaches it") {
  const Assignment alone{
      {ip("10.64.0.5/32", "10.64.0.1"), ip("fd00::5/128", "fe80::1")}, {to("0.0.0.0/0")}, {}};
  CHECK(routes_of(alone, 7, std::nullopt).at(0).onlink);
  for (const Route& route : routes_of(alone, 7, 100))
    CHECK(route.onlink == (route.gateway == IpAddress::parse("10.64.0.1")));
  // A mistake, which the kernel refuses.
  const Assignment wrong{{ip("10.64.0.5/24", "10.65.0.1")}, {to("0.0.0.0/0")}, {}};
  CHECK_FALSE(routes_of(wrong, 7, std::nullopt).at(0).onlink);
}

TEST_CASE("Two addresses of one network make one route, and a rule each") {
  const Assignment assignment{{ip("10.1.2.3/16"), ip("10.1.2.4/16")}, {}, {}};
  CHECK(words(assignment, 100) == Words{"10.1.0.0/16 table 100"});
  CHECK(rules_of(assignment.ips, 100) ==
        std::vector<RoutingRule>{{.source = cidr("10.1.2.3/32"), .table = 100},
                                 {.source = cidr("10.1.2.4/32"), .table = 100}});
}

TEST_CASE("Two addresses of two networks and gateways have a table each") {
  Assignment assignment{
      {ip("10.1.2.3/24", "10.1.2.1"), ip("10.9.2.3/24", "10.9.2.1"), ip("fd00::3/64", "fd00::1")},
      {to("0.0.0.0/0"), to("10.0.0.0/8")},
      {}};
  assignment.routes[1].gateway = IpAddress::parse("10.9.2.7");
  CHECK(words(assignment, 100) ==
        Words{"10.1.2.0/24 table 100", "fd00::/64 table 100", "fe80::/64 table 100",
              "10.9.2.0/24 table 1000100", "::/0 via fd00::1 table 100", "0.0.0.0/0 via 10.1.2.1 table 100",
              "0.0.0.0/0 via 10.9.2.1 table 1000100", "10.0.0.0/8 via 10.9.2.7 table 254",
              "10.0.0.0/8 via 10.9.2.7 table 1000100"});
  CHECK(rules_of(assignment.ips, 100) ==
        std::vector<RoutingRule>{{.source = cidr("10.1.2.3/32"), .table = 100},
                                 {.source = cidr("fd00::3/128"), .table = 100},
                                 {.source = cidr("10.9.2.3/32"), .table = 1000100}});
}

TEST_CASE("An address without a gateway shares the table of its network's, or has one of its own") {
  const auto tables = [](const std::vector<AssignedIp>& ips) {
    std::vector<uint32_t> out;
    for (const RoutingRule& rule : rules_of(ips, 7)) out.push_back(rule.table);
    return out;
  };
  CHECK(tables({ip("10.1.2.3/24", "10.1.2.1"), ip("10.1.2.4/24")}) == std::vector<uint32_t>{7, 7});
  CHECK(tables({ip("10.1.2.3/24"), ip("10.9.2.4/24")}) == std::vector<uint32_t>{7, 7});
  CHECK(tables({ip("10.1.2.3/24", "10.1.2.1"), ip("10.9.2.4/24")}) == std::vector<uint32_t>{7, 1000007});
}

TEST_CASE("A route that names its table stays in it with source routing, too") {
  Assignment assignment{{ip("10.1.2.3/16")}, {to("0.0.0.0/0")}, {}};
  assignment.routes[0].table = 77;
  CHECK(words(assignment, 100) == Words{"10.1.0.0/16 table 100", "0.0.0.0/0 table 77"});
}

TEST_CASE("A gateway that came with an address of the other family is that of its own family") {
  Assignment assignment{
      {ip("10.0.0.5/24", "10.0.0.1"), ip("fd00::5/64", "10.0.0.1")}, {to("0.0.0.0/0"), to("fd01::/64")}, {}};
  CHECK(words(assignment, std::nullopt) == Words{"fd01::/64 table 254", "0.0.0.0/0 via 10.0.0.1 table 254"});
  assignment.routes.clear();
  CHECK(words(assignment, 100) == Words{"10.0.0.0/24 table 100", "fd00::/64 table 100", "fe80::/64 table 100",
                                        "0.0.0.0/0 via 10.0.0.1 table 100"});
  std::swap(assignment.ips[0], assignment.ips[1]);
  assignment.routes = {to("fd01::/64")};
  CHECK(words(assignment, std::nullopt) == Words{"fd01::/64 table 254"});
  assignment.ips = {ip("fd00::5/64", "10.0.0.1")};
  assignment.routes.clear();
  CHECK(words(assignment, 100) == Words{"fd00::/64 table 100", "fe80::/64 table 100"});
}

TEST_CASE("Gateways of one family have a table each, whichever address they came with") {
  const Assignment assignment{
      {ip("fd00::5/64", "10.1.0.1"), ip("10.0.0.5/24", "10.0.0.1"), ip("10.1.0.5/24", "10.1.0.1")}, {}, {}};
  CHECK(words(assignment, 100) == Words{"fd00::/64 table 100", "fe80::/64 table 100", "10.1.0.0/24 table 100",
                                        "10.0.0.0/24 table 1000100", "0.0.0.0/0 via 10.1.0.1 table 100",
                                        "0.0.0.0/0 via 10.0.0.1 table 1000100"});
}

}  // namespace vfrail
