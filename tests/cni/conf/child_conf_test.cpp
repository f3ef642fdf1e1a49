// The keys mode and master (cni/conf/child_conf.cpp).
#include "cni/conf/net_conf.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

using Catch::Contains;

Result<NetConf> parse(const std::string& keys, const std::string& type = "vfrail") {
  return parse_net_conf(R"({"cniVersion":"1.0.0","name":"n","type":")" + type + "\"" +
                        (keys.empty() ? "" : "," + keys) + "}");
}

}  // namespace

TEST_CASE("mode names the kind of interface, and master what it stands on") {
  const auto by_name = parse(R"("mode":"macvlan","master":"ens1f0np0")");
  REQUIRE(by_name);
  CHECK(by_name->child->kind == ChildKind::macvlan);
  CHECK(by_name->device.name == "ens1f0np0");
  const auto by_address = parse(R"("mode":"ipvlan","master":"0000:03:00.0")");
  REQUIRE(by_address);
  CHECK(by_address->device.id->text() == "0000:03:00.0");
  const auto ipoib = parse(R"("mode":"ipoib","master":"ib0","pkey":"0x0002")");
  REQUIRE(ipoib);
  CHECK(ipoib->child->pkey == 0x8002);
  CHECK(ipoib->warnings.empty());
}

TEST_CASE("A unit of a shared pool, which is a number, names no device") {
  const auto conf = parse(R"("mode":"macvlan","master":"ens1f0","deviceID":"7")");
  REQUIRE(conf);
  CHECK_FALSE(conf->device.id);
  CHECK(conf->device.name == "ens1f0");
  CHECK(parse(R"("mode":"macvlan","deviceID":"0000:03:00.0")")->device.id->text() == "0000:03:00.0");
}

TEST_CASE("Two keys that name different interfaces are refused") {
  CHECK_THAT(parse(R"("mode":"macvlan","master":"0000:03:00.0","deviceID":"0000:03:00.1")").error().text,
             Contains("master: it names 0000:03:00.0, but another key names 0000:03:00.1"));
  CHECK_FALSE(parse(R"("mode":"macvlan","master":"a","device":"b")"));
}

TEST_CASE("Keys that would change the device are refused beside mode") {
  const std::string key =
      GENERATE(R"("vlan":5)", R"("guid":"00:11:22:33:44:55:66:77")", R"("rdmaName":"rdma0")", R"("queues":4)",
               R"("promisc":true)", R"("hostConfig":"move")", R"("deviceID":"bundle-3")",
               R"("vfioPciMode":true)", R"("rdmaIsolation":true)");
  CAPTURE(key);
  const std::string mode = R"("mode":"macvlan","master":"a",)";
  CHECK_THAT(parse(mode + key).error().text, Contains("mode: the device stays in the host"));
  CHECK(parse(key));
}

TEST_CASE("Only a macvlan has an address of its own choice") {
  const std::string rest = R"(,"master":"a","mac":"02:00:00:00:00:09")";
  CHECK(parse(R"("mode":"macvlan")" + rest));
  CHECK_FALSE(parse(R"("mode":"ipvlan")" + rest));
}

TEST_CASE("Another word is refused, master without mode is a warning, and peers' names have neither") {
  CHECK_THAT(parse(R"("mode":"bridge","master":"a")").error().text, Contains("mode"));
  const auto conf = parse(R"("master":"a")");
  REQUIRE(conf);
  CHECK_FALSE(conf->child);
  CHECK_THAT(conf->warnings.at(0), Contains("means nothing without mode"));
  const auto peer = parse(R"("mode":"bridge")", "host-device");
  REQUIRE(peer);
  CHECK_FALSE(peer->child);
}

}  // namespace vfrail
