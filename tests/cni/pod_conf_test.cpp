// cni/pod_conf.cpp: the keys of the tuning and sbr plugins, and what is refused before anything changes.
#include "cni/net_conf.h"

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

using Catch::Contains;

Result<NetConf> parse(const std::string& keys) {
  return parse_net_conf(R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","ipam":{"type":"static"},)" +
                        keys + "}");
}

PodSettings settings(const std::string& keys) {
  auto conf = parse(keys);
  if (!conf) FAIL(conf.error().text);
  return std::move(conf->pod);
}

Error refusal(const std::string& keys) {
  auto conf = parse(keys);
  REQUIRE_FALSE(conf);
  CHECK(conf.error().code == Errc::invalid);
  return std::move(conf.error());
}

}  // namespace

TEST_CASE("Without a key of tuning or sbr nothing is set, and addresses are announced") {
  const PodSettings pod = settings(R"("mtu":9000)");
  CHECK_FALSE(pod.need_link());
  CHECK(pod.announce);
}

TEST_CASE("Flags and queue length are read, and false is not the same as nothing") {
  const PodSettings pod = settings(R"("promisc":true,"AllMulti":false,"txQLen":0)");
  CHECK(pod.promisc == true);
  CHECK(pod.allmulti == false);
  CHECK(pod.tx_queue_len == 0U);
  CHECK_FALSE(settings(R"("announce":false)").announce);
}

TEST_CASE("A flag or queue length of another kind is refused with the key and what it has") {
  CHECK_THAT(refusal(R"("promisc":"on")").text, Contains("promisc") && Contains("\"on\""));
  CHECK_THAT(refusal(R"("allmulti":1)").text, Contains("allmulti") && Contains("1"));
  CHECK_THAT(refusal(R"("txQLen":-1)").text, Contains("txQLen") && Contains("-1"));
  CHECK_THAT(refusal(R"("txQLen":1000001)").text, Contains("txQLen") && Contains("1000000"));
  CHECK_THAT(refusal(R"("txQLen":"500")").text, Contains("txQLen") && Contains("a string"));
}

}  // namespace vfrail
