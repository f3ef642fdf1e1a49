// cni/conf/tuning.h: the keys, in both spellings, and what is refused by name.
#include "cni/conf/net_conf.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::cni;
using Catch::Contains;

namespace {

Result<NetConf> conf(const std::string& keys) {
  return parse_net_conf(R"({"cniVersion":"1.0.0","name":"n","type":"vfrail",)" + keys + "}");
}
std::string refusal(const std::string& keys) {
  const auto parsed = conf(keys);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Errc::invalid);
  return parsed.error().text;
}

}  // namespace

TEST_CASE("the tuning of a device is read, in ethtool's spelling, too") {
  const auto parsed = conf(
      R"("queues":4,"rings":{"rx":4096,"rx-mini":8},"coalesce":{"rx-usecs":8,"adaptiveRx":true,"txUsecs":0},)"
      R"("features":{"rx-gro":false},"rps":"numa","xps":"3,ffffffff","irqs":"f0")");
  REQUIRE(parsed);
  CHECK(parsed->warnings.empty());
  CHECK(parsed->link.tuning == Tuning{.queues = 4,
                                      .rings = {{"rx", 4096}, {"rxMini", 8}},
                                      .coalesce = {{"rxUsecs", 8}, {"adaptiveRx", 1}, {"txUsecs", 0}},
                                      .features = {{"rx-gro", false}},
                                      .rps = "numa",
                                      .xps = "3,ffffffff",
                                      .irqs = "f0"});
  CHECK(parsed->interface_key == "settings of the interface");
  CHECK(conf(R"("mtu":1500)")->link.tuning.empty());
}

TEST_CASE("a tuning that cannot be meant is refused by its key") {
  CHECK_THAT(refusal(R"("queues":0)"), Contains("queues: ") && Contains("1 to 1024"));
  CHECK_THAT(refusal(R"("rings":{"rxx":1})"),
             Contains("rings.rxx: unknown key; must be one of rx, ") && Contains("did you mean \"rx\"?"));
  CHECK_THAT(refusal(R"("coalesce":{"latency":1})"),
             Contains("coalesce.latency: unknown key; must be one of rxUsecs, "));
  CHECK_THAT(refusal(R"("rings":{"rx":-1})"), Contains("rings.rx"));
  CHECK_THAT(refusal(R"("features":{"rx-gro":"off"})"), Contains("features.rx-gro"));
  for (const char* mask : {"0x3", ",3", "3,", "3,,3", "123456789", "any"})
    CHECK_THAT(refusal(R"("rps":")" + std::string(mask) + "\""), Contains("rps: must be \"numa\""));
}
