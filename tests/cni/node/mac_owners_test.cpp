// The warning about a MAC address that something else on the node has: cni/node/mac_owners.h,
// cni/verbs/read_state.h.
#include "cni/node/mac_owners.h"

#include "tests/cni/fake_node.h"

#include <algorithm>

namespace vfrail::test {
using namespace cni;
namespace {

using Catch::Contains;

// A PF with three VFs, and a pod beside the usual one.
struct MacNode : FakeNode {
  MacNode() {
    world.add_pf("0000:21:00.0", "pf0");
    for (const char* vf : {"0000:21:10.0", "0000:21:10.2", "0000:21:10.4"})
      world.add_vf(vf, "vf" + std::string(1, vf[11]), "0000:21:00.0");
    world.add_veth(world.add_netns(kPod), "eth0");
    world.add_veth(world.add_netns("/run/netns/b"), "eth0");
    REQUIRE(log.open_file(dir.path("log")));
    log.set_level(LogLevel::warning);
  }
  static std::string config(const std::string& device, const std::string& more) {
    return R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","deviceID":")" + device + "\"" + more +
           "}";
  }
  void attach(const std::string& more = R"(,"mac":"02:00:00:00:00:42")") {
    const auto result = add(config("0000:21:10.0", more));
    if (!result) FAIL(result.error().text);
    CHECK(result->mac == has_mac);
  }
  // To the other pod, under another container's name.
  void attach_other(const std::string& device, const std::string& mac) {
    container = "c2";
    args = "K8S_POD_NAMESPACE=demo;K8S_POD_NAME=trainer-0";
    const auto result = add(config(device, R"(,"mac":")" + mac + "\""), "/run/netns/b");
    if (!result) FAIL(result.error().text);
    container = "c1";
    args = "";
    std::filesystem::resize_file(dir.path("log"), 0);
  }
  std::string logged() const { return text("log"); }
  auto calls(const std::string& name) const {
    return std::count(world.log().begin(), world.log().end(), name);
  }
  std::string has_mac = "02:00:00:00:00:42";
};

}  // namespace

TEST_CASE("a MAC address that nothing else has is set without a word") {
  MacNode node;
  node.attach();
  CHECK(node.logged().empty());
}

TEST_CASE("a MAC address that another VF of the PF has is set with a warning") {
  MacNode node;
  node.world.vf("0000:21:10.4").mac = MacAddress::parse("02:00:00:00:00:42");
  node.attach();
  CHECK_THAT(node.logged(), Contains("the requested MAC address is in use by others, too") &&
                                Contains("device=0000:21:10.0") && Contains("mac=02:00:00:00:00:42") &&
                                Contains("\"VF 2 of pf0\"") && Contains("id=VF-MAC-IN-USE"));
}

TEST_CASE("a MAC address that an interface of the host has is set with a warning, its own without") {
  MacNode node;
  SECTION("another's") {
    node.world.link("pf0").mac = *MacAddress::parse("02:00:00:00:00:42");
    node.attach();
    CHECK_THAT(node.logged(), Contains("\"pf0 of the host\"") && Contains("id=VF-MAC-IN-USE"));
  }
  SECTION("its own") {
    node.world.link("vf0").mac = *MacAddress::parse("02:00:00:00:00:42");
    node.attach();
    CHECK(node.logged().empty());
  }
}

TEST_CASE("a MAC address that another attachment has is set with a warning that names its pod") {
  MacNode node;
  node.attach_other("0000:21:10.2", "02:00:00:00:00:42");
  SECTION("which lives") {
    node.attach();
    CHECK_THAT(node.logged(), Contains("VF 1 of pf0, net1 of pod demo/trainer-0, network rail0") &&
                                  Contains("VF-MAC-IN-USE"));
  }
  SECTION("of an earlier boot: what the hardware kept counts, and the record does not") {
    std::filesystem::create_directories(node.dir.path("root/proc/sys/kernel/random"));
    std::ofstream(node.dir.path("root/proc/sys/kernel/random/boot_id")) << "boot-2\n";
    node.attach();
    CHECK_THAT(node.logged(), Contains("VF 1 of pf0") && !Contains("trainer-0"));
  }
  SECTION("and whose record is damaged") {
    std::ofstream(node.dir.path("state/attachments/c2:net1.json")) << "{ torn";
    node.attach();
    CHECK_THAT(node.logged(), Contains("VF 1 of pf0") && !Contains("trainer-0"));
  }
}

TEST_CASE("what was attached to the same device before is no reason for a warning") {
  MacNode node;
  node.attach_other("0000:21:10.0", "02:00:00:00:00:42");
  node.world.end_netns("/run/netns/b");
  node.attach();
  CHECK_THAT(node.logged(), !Contains("VF-MAC-IN-USE"));
}

TEST_CASE("without a MAC address in the network nobody is asked who else has one") {
  MacNode node;
  node.has_mac = node.world.link("vf0").mac.text();
  node.world.link("pf0").mac = node.world.link("vf0").mac;
  node.attach("");
  CHECK(node.calls("links") == 0);
  CHECK(node.calls("vfs") == 0);
  CHECK(node.logged().empty());
}

TEST_CASE("a MAC address costs one query of the VFs and one list of the host's links") {
  MacNode node;
  node.attach();
  CHECK(node.calls("links") == 1);
  CHECK(node.calls("vfs") == 1);
}

TEST_CASE("a list of the host's links that is interrupted costs the warning, not the pod") {
  MacNode node;
  node.world.churning = {FakeWorld::kHost};
  node.attach();
  CHECK(node.logged().empty());
}

}  // namespace vfrail::test
