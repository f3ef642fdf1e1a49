#include "common/node/host_use.h"

#include "tests/support/host_use_cases.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Kind = HostUseFact::Kind;

HostLinks bond_and_route() {
  return {{"a", {.master = "bond0"}},
          {"b", {.default_routes = {name_default_route(true, std::nullopt)}}},
          {"bond0", {.kind = "bond"}}};
}

}  // namespace

TEST_CASE("what the host uses a device for, by the table that both programs are held to") {
  for (const HostUseCase& row : host_use_cases()) {
    INFO(row.name);
    CHECK(find_host_use({"vf0"}, links_of(row)) == row.uses);
  }
}

TEST_CASE("of a device with several interfaces the most important fact comes first") {
  CHECK(find_host_use({"a", "b"}, bond_and_route()) ==
        std::vector<HostUseFact>{{Kind::default_route, "b carries an IPv6 default route"},
                                 {Kind::member, "part of bond0 (a bond)"}});
}

TEST_CASE("the members of one bond have one sentence, without their names") {
  const HostLinks links = {{"a", {.master = "bond0"}},
                           {"b", {.master = "bond0"}},
                           {"bond0", {.kind = "bond", .default_routes = {"the IPv4 default route"}}}};
  const auto of_a = find_host_use({"a"}, links);
  CHECK(of_a == std::vector<HostUseFact>{
                    {Kind::default_route, "part of bond0 (a bond), which carries the IPv4 default route"}});
  CHECK(find_host_use({"b"}, links) == of_a);
  CHECK(find_host_use({"a", "b"}, links) == of_a);
}

TEST_CASE("of a master whose kind is not known the name is said, and an unknown interface has no use") {
  CHECK(find_host_use({"a"}, {{"a", {.master = "m0"}}}) ==
        std::vector<HostUseFact>{{Kind::member, "part of m0"}});
  CHECK(find_host_use({"a"}, {}).empty());
}

TEST_CASE("interfaces above each other in a circle, as in files that changed meanwhile, end") {
  CHECK(
      find_host_use({"a"}, {{"a", {.master = "b", .uppers = {"b"}}}, {"b", {.master = "a", .uppers = {"a"}}}})
          .size() == 1);
}

TEST_CASE("the host depends on its default route and on members, not on addresses or what is not seen") {
  CHECK(serves_host({{Kind::address, ""}, {Kind::default_route, ""}}));
  CHECK(serves_host({{Kind::member, ""}}));
  CHECK_FALSE(serves_host({{Kind::address, ""}, {Kind::unseen, ""}}));
  CHECK_FALSE(serves_host({}));
}

}  // namespace vfrail::test
