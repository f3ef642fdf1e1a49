// The key claims (cni/conf/claims_conf.cpp).
#include "cni/conf/check_network.h"
#include "cni/conf/net_conf.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

using Catch::Contains;

Result<NetConf> parse(const std::string& keys, const std::string& type = "vfrail") {
  return parse_net_conf(R"({"cniVersion":"1.0.0","name":"pods","type":")" + type + "\"," + keys + "}");
}

}  // namespace

TEST_CASE("claims is true, or has names and keys of each resource") {
  CHECK_FALSE(parse(R"("claims":false)")->claims);
  CHECK(parse(R"("claims":true)")->claims->ifname_of(3) == "net3");
  const auto conf = parse(
      R"("claims":{"ifname":"railNUMBER","resources":{"rdma/a":{"MTU":4200}}},"mtu":1500,"rdma":"off")");
  REQUIRE(conf);
  CHECK(conf->warnings.empty());
  CHECK(conf->claims->ifname_of(2) == "rail2");
  const Json whole = *Json::parse(R"({"mtu":1500,"rdma":"off","claims":{}})");
  CHECK(conf->claims->for_resource(whole, "rdma/a") == *Json::parse(R"({"rdma":"off","MTU":4200})"));
  CHECK(conf->claims->for_resource(whole, "rdma/b") == *Json::parse(R"({"mtu":1500,"rdma":"off"})"));
}

TEST_CASE("what has no place beside claims is refused by its key") {
  const std::string key =
      GENERATE(R"("deviceID":"0000:03:00.1")", R"("deviceID":"bundle-3")", R"("device":"a")",
               R"("mode":"macvlan","master":"a")", R"("mac":"02:00:00:00:00:09")",
               R"("guid":"00:11:22:33:44:55:66:77")", R"("rdmaName":"rdma0")");
  CAPTURE(key);
  CHECK_THAT(parse(R"("claims":true,)" + key).error().text, Contains("claims: "));
  CHECK_THAT(parse(R"("claims":true)", "sriov").error().text, Contains("claims: ") && Contains("sriov"));
}

TEST_CASE("what is wrong in claims is named by its path") {
  CHECK_THAT(parse(R"("claims":"yes")").error().text, Contains("claims"));
  CHECK_THAT(parse(R"("claims":{"ifname":"net1"})").error().text,
             Contains("claims.ifname") && Contains("NUMBER"));
  CHECK_THAT(parse(R"("claims":{"name":"x"})").error().text, Contains("claims.name"));
  CHECK_THAT(parse(R"("claims":{"resources":{"a":5}})").error().text, Contains("claims.resources.a"));
  CHECK_THAT(parse(R"("claims":{"resources":{"a":{"name":"x"}}})").error().text,
             Contains("claims.resources.a.name"));
  CHECK_THAT(parse(R"("claims":{"resources":{"a":{"vlan":5000}}})").error().text,
             Contains("claims.resources.a: vlan"));
  const auto misspelt = parse(R"("claims":{"resources":{"a":{"mtuu":5}}})");
  REQUIRE(misspelt);
  REQUIRE(misspelt->warnings.size() == 1);
  CHECK_THAT(misspelt->warnings.front(), Contains("claims.resources.a: \"mtuu\"") && Contains("mtu"));
}

TEST_CASE("check-network accepts claims behind the primary network's plugin, and nowhere else") {
  const Json entry = *Json::parse(R"({"name":"pods","cniVersion":"1.0.0","type":"vfrail","claims":true})");
  const auto alone = check_network(entry, false, {"vfrail"});
  REQUIRE(alone.size() == 1);
  CHECK(alone.front().kind == NetworkRemark::Kind::error);
  CHECK_THAT(alone.front().text, Contains("claims: "));
  Json list = *Json::parse(R"({"name":"pods","cniVersion":"1.0.0","plugins":[{"type":"bridge"}]})");
  Json plugins = *list.find("plugins");
  plugins.push(entry);
  list.set("plugins", plugins);
  const auto behind = check_network(list, false, {"vfrail"});
  REQUIRE(behind.size() == 2);
  CHECK(behind[1].kind == NetworkRemark::Kind::note);
  CHECK(behind[1].text == "no error found");
}

}  // namespace vfrail
