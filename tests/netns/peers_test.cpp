// vfrail installed under the names of the plugins it replaces, with network definitions as their users have
// them, run as Multus and libcni run them: deviceID and pciBusID put into each entry of a chain, prevResult
// passed on, DEL in reverse order.
#include "tests/netns/node.h"
#include "tests/support/places.h"

#include <algorithm>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

struct Peers : Node {
  std::string pod;
  std::string before;
  Peers() {
    add_device("0000:03:02.1", "vf1");
    pod = add_pod("a");
    for (const char* name : {"sriov", "rdma", "host-device", "ib-sriov"}) {
      const Outcome installed =
          Program({test::program_path("vfrail-cni"), "install", "--as", name, path("bin")}, {}, "").wait();
      REQUIRE(installed.status == 0);
    }
    before = world();
  }

  // The entries of a definition, flat, as libcni makes them of `plugins`, with what Multus adds.
  static std::vector<Json> entries(const std::string& definition) {
    const Json json = *Json::parse(definition);
    std::vector<Json> out;
    const Json* plugins = json.find("plugins");
    if (plugins == nullptr) {
      out.push_back(json);
    } else {
      for (Json entry : *plugins->as_array()) {
        entry.set("name", *json.find("name")).set("cniVersion", *json.find("cniVersion"));
        out.push_back(std::move(entry));
      }
    }
    for (Json& entry : out) entry.set("deviceID", "0000:03:02.1").set("pciBusID", "0000:03:02.1");
    return out;
  }

  Outcome run_entry(const std::string& verb, const Json& entry) const {
    Call call;
    call.verb = verb;
    call.netns = pod;
    call.config = entry;
    call.program = path("bin/" + *entry.find("type")->as_text());
    Outcome outcome = run(call);
    INFO(verb << " " << entry.text() << "\n" << outcome.out << outcome.err);
    REQUIRE(outcome.status == 0);
    return outcome;
  }

  Json add(const std::vector<Json>& chain) const {
    Json result;
    for (Json entry : chain) {
      if (!result.is_null()) entry.set("prevResult", result);
      result = json_of(run_entry("ADD", entry));
    }
    return result;
  }

  // prevResult is sent from 0.4.0 on.
  void del(std::vector<Json> chain, const Json& result) const {
    std::reverse(chain.begin(), chain.end());
    for (Json entry : chain) {
      const std::string version = *entry.find("cniVersion")->as_text();
      if (version >= "0.4.0") entry.set("prevResult", result);
      run_entry("DEL", entry);
    }
  }

  std::string with_ipam(std::string definition) const {
    const std::string mark = "IPAM";
    return definition.replace(definition.find(mark), mark.size(), host_local().text());
  }
};

}  // namespace

TEST_CASE("A network of sriov-cni, host-device or ib-sriov works unchanged under the old name") {
  const char* definition = GENERATE(
      R"({"cniVersion":"0.3.1","name":"rail0","type":"sriov","logLevel":"info","ipam":IPAM})",
      R"({"type":"sriov","cniVersion":"1.0.0","name":"rail0","mac":"02:00:00:00:0d:01","ipam":IPAM})",
      R"({"cniVersion":"0.3.1","name":"rail0","type":"host-device","ipam":IPAM})",
      R"({"cniVersion":"0.2.0","name":"rail0","type":"host-device","ipam":IPAM})",
      R"({"cniVersion":"0.3.1","name":"rail0","type":"ib-sriov","link_state":"","rdmaIsolation":false,"ipam":IPAM})");
  CAPTURE(definition);
  const Peers node;
  const auto chain = Peers::entries(node.with_ipam(definition));
  const Json result = node.add(chain);
  CHECK_THAT(node.in_pod(node.pod, "ip -br addr show dev net1"), Contains("UP") && Contains("10.7.0.5/24"));
  node.del(chain, result);
  CHECK(node.world() == node.before);
}

TEST_CASE("A chain of sriov-cni and rdma-cni works when both names are vfrail's") {
  const std::string version = GENERATE("0.2.0", "0.3.1", "0.4.0", "1.0.0");
  CAPTURE(version);
  const Peers node;
  const auto chain = Peers::entries(node.with_ipam(
      R"({"cniVersion":")" + version +
      R"(","name":"rail0","plugins":[{"type":"sriov","ipam":IPAM},{"type":"rdma","args":{"cni":{"debug":true}}}]})"));
  const Json result = node.add(chain);
  CHECK_THAT(node.in_pod(node.pod, "ip -br addr show dev net1"), Contains("10.7.0.5/24"));
  CHECK(*result.find("cniVersion") == Json(version));
  if (version == "0.2.0") {
    CHECK(*result.find("ip4")->find("ip") == Json("10.7.0.5/24"));
  } else {
    CHECK(result.find("interfaces")->as_array()->size() == 1);
    CHECK(result.find("ips")->as_array()->size() == 1);
  }
  if (version >= "0.4.0") {
    for (Json entry : chain) node.run_entry("CHECK", entry.set("prevResult", result));
  }
  SECTION("DEL of the chain") { node.del(chain, result); }
  SECTION("DEL of the chain twice") {
    node.del(chain, result);
    node.del(chain, result);
  }
  SECTION("DEL of the second entry only, after which DEL is not repeated") {
    node.del({chain.back()}, result);
    CHECK(node.leases().empty());
  }
  CHECK(node.world() == node.before);
}

TEST_CASE("Behind another plugin's sriov the entry of rdma leaves the interface alone") {
  const std::string version = GENERATE("0.3.1", "1.0.0");
  const Peers node;
  // A veth has no RDMA device, which type rdma requires.
  const auto chain = Peers::entries(R"({"cniVersion":")" + version +
                                    R"(","name":"rail0","plugins":[{"type":"rdma","rdma":"auto"}]})");
  shell("ip link set vf1 netns " + node.pod + " name net1");
  node.in_pod(node.pod, "ip link set net1 up");
  Json previous;
  previous.set("cniVersion", version).set("dns", Json::object());
  Json interface;
  interface.set("name", "net1").set("sandbox", node.pod);
  previous.set("interfaces", Json(Json::Array{interface}));
  Json entry = chain.front();
  const Json result = json_of(node.run_entry("ADD", entry.set("prevResult", previous)));
  CHECK(*result.find("interfaces") == *previous.find("interfaces"));
  node.del(chain, result);
  node.del(chain, result);
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
}

TEST_CASE("Under the name of sriov-cni the pod has arp_notify and ndisc_notify, as from sriov-cni") {
  const std::string type = GENERATE("sriov", "host-device");
  const Peers node;
  const auto chain = Peers::entries(R"({"cniVersion":"1.0.0","name":"rail0","type":")" + type + R"("})");
  const Json result = node.add(chain);
  for (const char* sysctl : {"ipv4/conf/net1/arp_notify", "ipv6/conf/net1/ndisc_notify"}) {
    CAPTURE(type, sysctl);
    CHECK(node.in_pod(node.pod, "cat /proc/sys/net/" + std::string(sysctl)) ==
          (type == "sriov" ? "1\n" : "0\n"));
  }
  // A field of 1.1.0, which sriov-cni has in 1.0.0, too.
  CHECK((result.find("interfaces")->as_array()->at(0).find("mtu") != nullptr) == (type == "sriov"));
  node.del(chain, result);
  CHECK(node.world() == node.before);
}

}  // namespace vfrail::test
