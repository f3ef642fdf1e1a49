// cni/conf/result.h: what is printed, in the shape of each version; what an IPAM plugin printed.
#include "cni/conf/result.h"

#include "common/errors/error_id.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

Json json(std::string_view text) {
  auto parsed = Json::parse(text);
  if (!parsed) FAIL(parsed.error().text);
  return std::move(*parsed);
}

Assignment assignment(std::string_view text) {
  auto parsed = parse_assignment(json(text));
  if (!parsed) FAIL(parsed.error().text);
  return std::move(*parsed);
}

AddResult full_result(const std::string& version) {
  AddResult out;
  out.cni_version = version;
  out.ifname = "net1";
  out.mac = "02:00:00:00:00:01";
  out.mtu = 9000;
  out.sandbox = "/run/netns/x";
  out.pci_id = "0000:03:02.1";
  out.assignment =
      assignment(R"({"ips":[{"address":"10.0.0.5/24","gateway":"10.0.0.1"},{"address":"fd00::5/64"}],
      "routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1","mtu":1400,"advmss":1360,"priority":50,"table":100,"scope":0}]})");
  return out;
}

}  // namespace

TEST_CASE("A result of 1.1.0 has MTU, PCI id and all fields of a route") {
  const std::string version = "1.1.0";
  CHECK(format_result(full_result(version)) == json(R"({"cniVersion":")" + version + R"(","interfaces":[
      {"name":"net1","mac":"02:00:00:00:00:01","mtu":9000,"sandbox":"/run/netns/x","pciID":"0000:03:02.1"}],
      "ips":[{"interface":0,"address":"10.0.0.5/24","gateway":"10.0.0.1"},{"interface":0,"address":"fd00::5/64"}],
      "routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1","mtu":1400,"advmss":1360,"priority":50,"table":100,"scope":0}]})"));
}

TEST_CASE("A result of 1.0.0 has no field of 1.1.0 but those that it passes on") {
  AddResult result = full_result("1.0.0");
  result.prev_result = json(R"({"cniVersion":"1.0.0",
      "interfaces":[{"name":"a","mtu":1500,"pciID":"x","socketPath":"/s"}],
      "routes":[{"dst":"10.2.0.0/16","mtu":1300,"table":7,"scope":253}]})");
  CHECK(format_result(result) == json(R"({"cniVersion":"1.0.0",
      "interfaces":[{"name":"a","mtu":1500,"pciID":"x","socketPath":"/s"},
      {"name":"net1","mac":"02:00:00:00:00:01","sandbox":"/run/netns/x"}],
      "ips":[{"interface":1,"address":"10.0.0.5/24","gateway":"10.0.0.1"},{"interface":1,"address":"fd00::5/64"}],
      "routes":[{"dst":"10.2.0.0/16","mtu":1300,"table":7,"scope":253},{"dst":"0.0.0.0/0","gw":"10.0.0.1"}]})"));
  result.prev_result->set("cniVersion", "1.1.0");
  const Json converted = format_result(result);
  CHECK(converted.find("interfaces")->as_array()->front() == json(R"({"name":"a"})"));
  CHECK(converted.find("routes")->as_array()->front() == json(R"({"dst":"10.2.0.0/16"})"));
}

TEST_CASE("A result of 1.0.0 has the MTU under the name of sriov-cni, whose results have it") {
  AddResult result = full_result("1.0.0");
  result.mtu_in_1_0 = true;
  CHECK(format_result(result).find("interfaces")->as_array()->front() ==
        json(R"({"name":"net1","mac":"02:00:00:00:00:01","mtu":9000,"sandbox":"/run/netns/x"})"));
}

TEST_CASE("A result before 1.0.0 has the family of each address and no later field") {
  const std::string version = GENERATE("0.3.0", "0.3.1", "0.4.0");
  CHECK(format_result(full_result(version)) == json(R"({"cniVersion":")" + version + R"(","interfaces":[
      {"name":"net1","mac":"02:00:00:00:00:01","sandbox":"/run/netns/x"}],
      "ips":[{"version":"4","interface":0,"address":"10.0.0.5/24","gateway":"10.0.0.1"},
      {"version":"6","interface":0,"address":"fd00::5/64"}],
      "routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1"}],"dns":{}})"));
}

TEST_CASE("A device without a netdev has an interface without MAC and MTU") {
  AddResult result;
  result.cni_version = "1.0.0";
  result.ifname = "net1";
  result.sandbox = "/run/netns/x";
  CHECK(format_result(result) ==
        json(R"({"cniVersion":"1.0.0","interfaces":[{"name":"net1","sandbox":"/run/netns/x"}]})"));
}

TEST_CASE("A chained result keeps the previous one and refers to its own interface") {
  AddResult result = full_result("1.0.0");
  result.prev_result =
      json(R"({"cniVersion":"1.0.0","interfaces":[{"name":"br0"},{"name":"eth0","sandbox":"/x"}],
      "ips":[{"address":"10.1.0.2/16","interface":1}],"routes":[{"dst":"10.2.0.0/16"}],"dns":{"domain":"d"}})");
  const Json out = format_result(result);
  CHECK(out.find("interfaces")->as_array()->size() == 3);
  const auto& ips = *out.find("ips")->as_array();
  REQUIRE(ips.size() == 3);
  CHECK(ips[0] == json(R"({"address":"10.1.0.2/16","interface":1})"));
  CHECK(*ips[1].find("interface") == Json(2));
  CHECK(out.find("routes")->as_array()->size() == 2);
  CHECK(*out.find("dns") == json(R"({"domain":"d"})"));
}

TEST_CASE("Our own DNS precedes the previous one") {
  AddResult result = full_result("1.0.0");
  result.assignment.dns.nameservers = {"10.0.0.53"};
  result.prev_result = json(R"({"dns":{"domain":"d"}})");
  CHECK(*format_result(result).find("dns") == json(R"({"nameservers":["10.0.0.53"]})"));
}

TEST_CASE("Each DNS field of the configuration overrides that of the IPAM plugin") {
  const Dns configured{{"10.0.0.1"}, "", {}, {"ndots:2"}};
  const Dns assigned{{"10.0.0.2"}, "assigned", {"a", "b"}, {"ndots:5"}};
  const Dns both = merged(configured, assigned);
  CHECK(both.nameservers == configured.nameservers);
  CHECK(both.domain == "assigned");
  CHECK(both.search == assigned.search);
  CHECK(both.options == configured.options);
}

TEST_CASE("An IPAM result is read in the format of every version") {
  const Assignment out = assignment(R"({"cniVersion":"0.3.1","ips":[{"version":"4","address":"10.0.0.5/24"}],
      "routes":[{"dst":"10.2.0.0/16"}],"dns":{"nameservers":["10.0.0.53"],"search":["x"]}})");
  CHECK(out.ips.at(0).address.cidr() == "10.0.0.5/24");
  CHECK_FALSE(out.ips[0].gateway.has_value());
  CHECK(out.routes.at(0).destination.cidr() == "10.2.0.0/16");
  CHECK(out.dns.search == std::vector<std::string>{"x"});
}

TEST_CASE("An impossible IPAM result is refused with the place of the fault") {
  const auto [text, place] = GENERATE(table<std::string, std::string>({
      {R"([])", "must be an object"},
      {R"({"ips":{}})", "ips: "},
      {R"({"ips":[5]})", "ips: "},
      {R"({"ips":[{}]})", "ips[0].address: "},
      {R"({"ips":[{"address":"10.0.0.5"}]})", "ips[0].address: "},
      {R"({"ips":[{"address":"10.0.0.5/24","gateway":"x"}]})", "ips[0].gateway: "},
      {R"({"routes":[{"dst":"x"}]})", "routes[0].dst: "},
      {R"({"routes":[{"dst":"10.0.0.0/8","mtu":-1}]})", "routes[0].mtu: "},
      {R"({"routes":[{"dst":"10.0.0.0/8","scope":256}]})", "routes[0].scope: "},
      {R"({"dns":{"search":"x"}})", "dns.search: "},
  }));
  CAPTURE(text);
  const auto parsed = parse_assignment(json(text));
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Errc::protocol);
  CHECK_THAT(parsed.error().text, Catch::StartsWith(place));
}

TEST_CASE("An IPAM result with too many addresses is refused") {
  Json list = Json::array();
  for (int i = 0; i < 1025; ++i) list.push(json(R"({"address":"10.0.0.5/24"})"));
  Json answer;
  answer.set("ips", std::move(list));
  CHECK_FALSE(parse_assignment(answer));
}

TEST_CASE("Only the addresses of this interface in this sandbox are used from a previous result") {
  const Json previous = json(R"({"interfaces":[{"name":"net1"},{"name":"net1","sandbox":"/x"},{"name":"eth0",
      "sandbox":"/x"}],"ips":[{"address":"10.0.0.1/24","interface":0},{"address":"10.0.0.2/24","interface":1},
      {"address":"10.0.0.3/24","interface":2},{"address":"10.0.0.4/24"}]})");
  const auto mine = assignment_of(previous, "net1", "/x");
  REQUIRE(mine);
  REQUIRE(mine->ips.size() == 1);
  CHECK(mine->ips[0].address.cidr() == "10.0.0.2/24");
}

TEST_CASE("Keys of a previous result are read in any letter case") {
  const Json previous = json(R"({"Interfaces":[{"Name":"net1","Sandbox":"/x"}],
      "IPs":[{"Address":"10.0.0.2/24","Interface":0}],"Routes":[{"dst":"10.2.0.0/16"}],"DNS":{"domain":"d"}})");
  const auto mine = assignment_of(previous, "net1", "/x");
  REQUIRE(mine);
  REQUIRE(mine->ips.size() == 1);
  CHECK(mine->ips[0].address.cidr() == "10.0.0.2/24");
  AddResult result = full_result("1.0.0");
  result.prev_result = previous;
  const Json out = format_result(result);
  CHECK(out.find("interfaces")->as_array()->size() == 2);
  CHECK(out.find("ips")->as_array()->size() == 3);
  CHECK(*out.find("dns") == json(R"({"domain":"d"})"));
}

TEST_CASE("A previous result with an invalid interface is refused") {
  const char* lists = GENERATE(R"("interfaces":[5],"ips":[{"address":"10.0.0.1/24","interface":0}])",
                               R"("interfaces":{},"ips":[{"address":"10.0.0.1/24","interface":0}])",
                               R"("interfaces":[{}],"ips":[{"address":"10.0.0.1/24","interface":"0"}])");
  CHECK_FALSE(assignment_of(json(std::string("{") + lists + "}"), "net1", "/x"));
}

TEST_CASE("A previous result that names an interface it does not list is refused") {
  const char* index = GENERATE("0", "-1", "5");
  const Json previous =
      json(std::string(R"({"interfaces":[],"ips":[{"address":"10.0.0.1/24","interface":)") + index + "}]}");
  CHECK_FALSE(assignment_of(previous, "net1", "/x"));
}

TEST_CASE("The versions are those from 0.1.0 to 1.1.0, and they have an order") {
  CHECK(
      format_versions() ==
      json(
          R"({"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]})"));
  CHECK(version_list() == "0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0 and 1.1.0");
  CHECK(version_supported("0.3.1"));
  for (const char* version : {"", "0.0.1", "1.1", "2.0.0", "1.1.0 "}) {
    CAPTURE(version);
    CHECK_FALSE(version_supported(version));
    CHECK(compare_versions(version, "0.1.0") == -1);
  }
  CHECK(compare_versions("0.4.0", "0.3.1") == 1);
  CHECK(compare_versions("1.0.0", "1.0.0") == 0);
}

TEST_CASE("Each kind of error has its CNI code") {
  const auto [kind, code] = GENERATE(table<Errc, int>({{Errc::invalid, 7},
                                                       {Errc::unsupported, 2},
                                                       {Errc::busy, 11},
                                                       {Errc::timeout, 11},
                                                       {Errc::protocol, 6},
                                                       {Errc::not_found, 100},
                                                       {Errc::exists, 101},
                                                       {Errc::denied, 102},
                                                       {Errc::system, 103},
                                                       {Errc::peer, 999}}));
  CAPTURE(static_cast<int>(kind));
  CHECK(cni_code(Error{kind, 0, "x"}, CniCode::invalid_config) == code);
}

TEST_CASE("An invalid value has the CNI code of the source it came from") {
  CHECK(cni_code(Error{Errc::invalid, 0, "x"}, CniCode::invalid_environment) == 4);
}

TEST_CASE("A valid code of an IPAM plugin is passed on") {
  CHECK(cni_code(Error{Errc::peer, 11, "x"}, CniCode::invalid_config) == 11);
  CHECK(cni_code(Error{Errc::peer, -1, "x"}, CniCode::invalid_config) == 999);
  CHECK(cni_code(Error{Errc::peer, 70'000, "x"}, CniCode::invalid_config) == 999);
}

TEST_CASE("An error that contains invalid or truncated UTF-8 is still JSON") {
  const Json error = format_error("1.0.0", 7, Error{Errc::invalid, 0, "\"caf\xc3\" is no address"});
  CHECK(*error.find("msg") == Json("\"caf\\xc3\" is no address"));
  CHECK(*Json::parse(error.pretty()) == error);
}

TEST_CASE("Control characters in names are escaped in errors, because terminals print them") {
  CHECK(*format_error("1.0.0", 7, Error{Errc::invalid, 0, "\x1b[2J\nand \xC2\x9b"}).find("msg") ==
        Json("\\x1b[2J\\x0aand \\xc2\\x9b"));
}

TEST_CASE("An error has version, code, message and id") {
  CHECK(format_error("0.4.0", 11, Error{Errc::busy, 0, "busy \"x\""}) ==
        json(R"({"cniVersion":"0.4.0","code":11,"msg":"busy \"x\"","details":"vfrail explain VF-BUSY"})"));
  CHECK(*format_error("0.4.0", 11, Error{Errc::busy, 0, "x", ErrorId::device_in_use}).find("details") ==
        Json("vfrail explain VF-DEVICE-IN-USE"));
}

}  // namespace vfrail
