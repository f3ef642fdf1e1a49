// The files of other plugins: what is read from them, and that nothing in them can harm.
#include "cni/sweep/adopt.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

using Catch::Contains;

// {"cniVersion":"0.3.1","name":"n","plugins":[{"type":"sriov","capabilities":{"mac":true,"ips":false}},
// {"type":"rdma"}]}
constexpr const char* kList =
    "eyJjbmlWZXJzaW9uIjoiMC4zLjEiLCJuYW1lIjoibiIsInBsdWdpbnMiOlt7InR5cGUiOiJzcmlvdiIsImNhcGFiaWxpdGllcyI6eyJt"
    "YWMi"
    "OnRydWUsImlwcyI6ZmFsc2V9fSx7InR5cGUiOiJyZG1hIn1dfQ==";

std::string cache(const std::string& more) {
  return R"({"kind":"cniCacheV1","containerId":"c1","ifName":"net1","networkName":"n","netns":"/run/netns/a",)" +
         more + "}";
}
std::string state(const std::string& before) {
  return R"({"name":"n","deviceID":"0000:03:02.1","OrigVfState":)" + before + "}";
}

}  // namespace

TEST_CASE("libcni's cache has each plugin's configuration as it was sent") {
  const auto cached = parse_cni_cache(
      cache(std::string(
                R"("cniArgs":[["A","1"],["B","x;y"]],"capabilityArgs":{"mac":"02:00:00:00:00:01","ips":[]},)"
                R"("config":")") +
            kList + "\""));
  REQUIRE(cached);
  CHECK(cached->name == AttachmentName{"c1", "net1"});
  CHECK(cached->network == "n");
  CHECK(cached->netns == "/run/netns/a");
  CHECK(cached->cni_args == "A=1;B=x;y");
  REQUIRE(cached->plugins.size() == 2);
  CHECK(*cached->plugins[0].find("name") == Json("n"));
  CHECK(*cached->plugins[0].find("cniVersion") == Json("0.3.1"));
  CHECK(cached->plugins[0].find("runtimeConfig")->text() == R"({"mac":"02:00:00:00:00:01"})");
  CHECK(cached->plugins[1].find("runtimeConfig") == nullptr);
}

TEST_CASE("libcni's cache is refused with a reason when it is truncated or a name in it is invalid") {
  const auto refused = [](const std::string& text) {
    const auto cached = parse_cni_cache(text);
    return cached ? std::string("accepted") : cached.error().text;
  };
  CHECK_THAT(refused("{"), !Contains("accepted"));
  CHECK_THAT(refused("[]"), Contains("an object"));
  CHECK_THAT(refused("{}"), Contains("kind"));
  CHECK_THAT(refused(R"({"kind":"cniCacheV1","containerId":"../../x","ifName":"net1"})"),
             Contains("containerId"));
  CHECK_THAT(refused(R"({"kind":"cniCacheV1","containerId":"c1","ifName":"a/b"})"), Contains("ifName"));
  for (const char* config : {"abc", "====", "a===", "ab=c", "\\u0000aaa", "e30", "W10",
                             "MQ==", "eyJuYW1lIjoibiIsInBsdWdpbnMiOlsxXX0="})
    CHECK_THAT(refused(cache(std::string(R"("config":")") + config + "\"")), !Contains("accepted"));
  CHECK_THAT(refused(cache(R"("cniArgs":[["A"]],"config":"e30=")")), Contains("cniArgs"));
}

TEST_CASE("the state of sriov-cni has the VF's original settings, in the format of each version") {
  const auto now = parse_sriov_state(state(
      R"({"HostIFName":"ens1f0v0","SpoofChk":true,"Trust":false,"AdminMAC":"02:00:00:00:00:01",)"
      R"("EffectiveMAC":"02:00:00:00:00:02","Vlan":5,"VlanQoS":2,"VlanProto":34984,"MinTxRate":1,"MaxTxRate":9,)"
      R"("LinkState":2,"MTU":1400})"));
  REQUIRE(now);
  CHECK(now->device->text() == "0000:03:02.1");
  CHECK(now->host_name == "ens1f0v0");
  CHECK(now->mac == MacAddress::parse("02:00:00:00:00:02"));
  CHECK(now->mtu == 1400U);
  CHECK(now->vf == VfSettings{.mac = MacAddress::parse("02:00:00:00:00:01"),
                              .vlan = VfVlan{5, 2, 0x88a8},
                              .rate = VfRate{1, 9},
                              .spoof_check = true,
                              .trust = false,
                              .link_state = VfLinkState::disable});
  const auto before =
      parse_sriov_state(state(R"({"HostIFName":"ens1f0v0","AdminMAC":"","Vlan":5,"VlanQoS":0,"MTU":0})"));
  REQUIRE(before);
  CHECK(before->vf == VfSettings{.vlan = VfVlan{5, 0, 0x8100}});
  CHECK_FALSE(before->mtu);
  CHECK_FALSE(before->mac);
}

TEST_CASE("state files with invalid names are refused with the key") {
  const auto refused = [](const Result<OtherState>& read) {
    return read ? std::string("accepted") : read.error().text;
  };
  CHECK_THAT(refused(parse_sriov_state(state(R"({"HostIFName":"../x"})"))),
             Contains("OrigVfState.HostIFName"));
  CHECK_THAT(refused(parse_sriov_state(state(R"({"AdminMAC":"x"})"))), Contains("OrigVfState.AdminMAC"));
  CHECK_THAT(refused(parse_sriov_state(state(R"({"Vlan":70000})"))), Contains("OrigVfState.Vlan"));
  CHECK_THAT(refused(parse_sriov_state(R"({"deviceID":"../x","OrigVfState":{}})")), Contains("deviceID"));
  CHECK_THAT(refused(parse_sriov_state(R"({"deviceID":"0000:03:02.1"})")), Contains("OrigVfState"));
  CHECK_THAT(refused(parse_ib_sriov_state(R"({"deviceID":"0000:03:02.1","HostIFNames":"a b"})")),
             Contains("HostIFNames"));
  CHECK_FALSE(parse_rdma_state(R"({"containerRdmaDevName":"../mlx5_0"})"));
  CHECK_FALSE(parse_rdma_state(R"({"containerRdmaDevName":"."})"));
}

TEST_CASE("a GUID of zero in the state of ib-sriov-cni is not restored") {
  const auto zero =
      parse_ib_sriov_state(R"({"deviceID":"0000:03:02.1","HostIFGUID":"00:00:00:00:00:00:00:00"})");
  REQUIRE(zero);
  CHECK(zero->vf.empty());
}

}  // namespace vfrail
