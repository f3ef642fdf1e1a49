// cni/conf/result_old.cpp: the shapes before 1.0.0, printed and read.
#include "cni/conf/result.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

Json json(std::string_view text) {
  auto parsed = Json::parse(text);
  if (!parsed) FAIL(parsed.error().text);
  return std::move(*parsed);
}

AddResult result_in(const std::string& version) {
  AddResult out;
  out.cni_version = version;
  out.ifname = "net1";
  out.mac = "02:00:00:00:00:01";
  out.mtu = 9000;
  out.sandbox = "/run/netns/x";
  return out;
}

AddResult result_in(const std::string& version, std::string_view assignment) {
  AddResult out = result_in(version);
  auto parsed = parse_assignment(json(assignment));
  if (!parsed) FAIL(parsed.error().text);
  out.assignment = std::move(*parsed);
  return out;
}

}  // namespace

TEST_CASE("A result before 0.3.0 has the first address of each family and the family's routes") {
  const std::string version = GENERATE("0.1.0", "0.2.0");
  const AddResult result = result_in(version, R"({"ips":[{"address":"10.0.0.5/24","gateway":"10.0.0.1"},
      {"address":"10.0.0.6/24"},{"address":"fd00::5/64"}],"routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1","mtu":1400},
      {"dst":"::/0","gw":"fd00::1"},{"dst":"10.2.0.0/16"}],"dns":{"domain":"d"}})");
  CHECK(format_result(result) == json(R"({"cniVersion":")" + version + R"(",
      "ip4":{"ip":"10.0.0.5/24","gateway":"10.0.0.1","routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1"},{"dst":"10.2.0.0/16"}]},
      "ip6":{"ip":"fd00::5/64","routes":[{"dst":"::/0","gw":"fd00::1"}]},"dns":{"domain":"d"}})"));
}

TEST_CASE("A result before 0.3.0 leaves out the routes of a family that has no address") {
  const AddResult result = result_in(
      "0.2.0", R"({"ips":[{"address":"fd00::5/64"}],"routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1"}]})");
  CHECK(format_result(result) == json(R"({"cniVersion":"0.2.0","ip6":{"ip":"fd00::5/64"},"dns":{}})"));
}

TEST_CASE("An IPAM result before 0.3.0 means the same as a newer one") {
  const auto old = parse_assignment(json(R"({"cniVersion":"0.2.0",
      "ip4":{"ip":"10.0.0.5/24","gateway":"10.0.0.1","routes":[{"dst":"0.0.0.0/0"}]},
      "ip6":{"ip":"fd00::5/64","routes":[{"dst":"::/0","gw":"fd00::1"}]},"dns":{"nameservers":["10.0.0.53"]}})"));
  REQUIRE(old);
  REQUIRE(old->ips.size() == 2);
  CHECK(old->ips[0].address.cidr() == "10.0.0.5/24");
  CHECK(old->ips[0].gateway->text() == "10.0.0.1");
  CHECK(old->ips[1].address.cidr() == "fd00::5/64");
  REQUIRE(old->routes.size() == 2);
  CHECK(old->routes[1].gateway->text() == "fd00::1");
  CHECK(old->dns.nameservers == std::vector<std::string>{"10.0.0.53"});
}

TEST_CASE("An impossible IPAM result of an old version is refused") {
  const char* text = GENERATE(R"({"ip4":5})", R"({"ip4":{}})", R"({"ip4":{"ip":"10.0.0.5"}})",
                              R"({"ip6":{"ip":"fd00::5/64","routes":[{"dst":"x"}]}})");
  CAPTURE(text);
  CHECK_FALSE(parse_assignment(json(text)));
}

TEST_CASE("Invalid entries of a previous result are dropped from the output") {
  const std::string version = GENERATE("0.2.0", "0.4.0");
  AddResult result = result_in(version, R"({"ips":[{"address":"10.0.0.5/24"}]})");
  result.prev_result = json(R"({"interfaces":[5,{}],"ips":[5,null,{"x":1}],"routes":[5,{}],"dns":5})");
  CHECK_THAT(format_result(result).text(), Catch::Contains("10.0.0.5/24"));
  result.prev_result = json(R"({"ip4":5,"ip6":{"ip":5,"routes":5}})");
  CHECK_THAT(format_result(result).text(), Catch::Contains(version));
}

TEST_CASE("A previous result keeps its meaning in every version") {
  const auto [previous, version, expected] = GENERATE(table<std::string, std::string, std::string>({
      {R"({"cniVersion":"0.2.0","ip4":{"ip":"10.1.0.2/16","routes":[{"dst":"10.2.0.0/16"}]},"dns":{}})",
       "0.2.0",
       R"({"cniVersion":"0.2.0","ip4":{"ip":"10.1.0.2/16","routes":[{"dst":"10.2.0.0/16"}]},"dns":{}})"},
      {R"({"cniVersion":"0.2.0","ip4":{"ip":"10.1.0.2/16"},"dns":{}})", "1.0.0",
       R"({"cniVersion":"1.0.0","interfaces":[{"name":"net1","mac":"02:00:00:00:00:01",
           "sandbox":"/run/netns/x"}],"ips":[{"address":"10.1.0.2/16"}]})"},
      {R"({"cniVersion":"1.0.0","interfaces":[{"name":"eth0","mtu":1500,"sandbox":"/x","pciID":"0000:03:02.1"}],
           "ips":[{"interface":0,"address":"fd00::2/64"}]})",
       "0.4.0", R"({"cniVersion":"0.4.0","interfaces":[{"name":"eth0","sandbox":"/x"},{"name":"net1",
           "mac":"02:00:00:00:00:01","sandbox":"/run/netns/x"}],
           "ips":[{"version":"6","interface":0,"address":"fd00::2/64"}],"dns":{}})"},
  }));
  CAPTURE(previous, version);
  AddResult result = result_in(version);
  result.prev_result = json(previous);
  CHECK(format_result(result) == json(expected));
}

}  // namespace vfrail
