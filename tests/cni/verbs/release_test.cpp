// What DEL, a roll-back and a clean-up release, in which order, and under which locks.
#include "cni/ipam/ipam.h"
#include "tests/cni/fake_node.h"

#include <unistd.h>

namespace vfrail::test {
namespace {

using Catch::Contains;

std::string network(const std::string& keys) {
  return R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail",)" + keys + "}";
}

const std::string kWithIpam = network(R"("deviceID":"0000:21:10.0","ipam":{"type":"fake-ipam"})");
constexpr const char* kGivesAnAddress =
    R"(echo "$CNI_COMMAND $CNI_ARGS" >> "$node/verbs"; ls "$node/locks" > "$node/locks-at-$CNI_COMMAND"
test $CNI_COMMAND = ADD && echo '{"cniVersion":"1.0.0","ips":[{"address":"10.9.0.2/24"}]}'; exit 0)";

// ADD, DEL and clean-up hold the attachment meanwhile, and no device.
const std::string kLocksDuringIpam = "attachment:c1:net1\nipam:c1:net1\n";

Result<bool> clean_up(TwoVfs& node) {
  return node.run(
      [](const Request&, World& world) -> Result<bool> {
        const auto record = TRY(world.store.load({"c1", "net1"}), "");
        return undo(*record, world, [] { return true; });
      },
      Command::del, kWithIpam);
}

}  // namespace

TEST_CASE("DEL after an ADD that was refused for its configuration succeeds") {
  const std::string keys = GENERATE(
      R"("deviceID":"0000:21:10.0","vlan":5000,"ipam":{"type":"fake-ipam"})",
      R"("deviceID":"0000:21:10.0","mac":"x","ipam":{"type":"fake-ipam"})",
      R"("deviceID":"0000:21:10.0","spoofchk":"perhaps","ipam":{"type":"fake-ipam"})",
      R"("deviceID":"nonsense","ipam":{"type":"fake-ipam"})",
      R"("deviceID":"0000:21:10.0","ipam":{"subnet":"10.0.0.0/8"})", R"("deviceID":"0000:21:10.0","ipam":7)",
      R"("deviceID":"0000:21:10.0","vlan":5000,"ipam":{"type":"../fake-ipam"})");
  CAPTURE(keys);
  TwoVfs node;
  const std::string before = node.world.snapshot();
  node.install_ipam("fake-ipam", kGivesAnAddress);
  REQUIRE_FALSE(node.add(network(keys)));
  const auto done = node.del(network(keys));
  INFO((done ? "" : done.error().text));
  CHECK(done);
  CHECK(node.text("verbs").empty() == (keys.find(R"("type":"fake-ipam")") == std::string::npos));
  CHECK(node.world.snapshot() == before);
  CHECK(node.no_state());
}

TEST_CASE("DEL of a refused configuration succeeds although its IPAM plugin fails") {
  TwoVfs node;
  const std::string config = network(R"("deviceID":"0000:21:10.0","vlan":5000,"ipam":{"type":"fake-ipam"})");
  SECTION("the plugin fails") { node.install_ipam("fake-ipam", "exit 1"); }
  SECTION("the plugin is not installed") {}
  CHECK(node.del(config));
}

TEST_CASE("DEL with a version that no ADD accepts succeeds") {
  TwoVfs node;
  node.install_ipam("fake-ipam", "exit 1");
  CHECK(node.del(R"({"cniVersion":"9.9.9","name":"rail0","type":"vfrail","deviceID":"0000:21:10.0",)"
                 R"("ipam":{"type":"fake-ipam"}})"));
}

TEST_CASE("DEL of a valid configuration fails when its address cannot be released") {
  TwoVfs node;
  node.install_ipam("fake-ipam", "exit 1");
  CHECK_FALSE(node.del(kWithIpam));
}

TEST_CASE("A DEL that cannot release the address releases the device, and the next DEL leaves it alone") {
  TwoVfs node;
  const std::string before = node.world.snapshot();
  node.install_ipam("fake-ipam", kGivesAnAddress);
  REQUIRE(node.add(kWithIpam));
  node.install_ipam("fake-ipam", "exit 1");
  CHECK_FALSE(node.del(kWithIpam));
  CHECK(node.world.snapshot() == before);
  CHECK(std::filesystem::is_empty(node.dir.path("state/devices")));
  CHECK_FALSE(std::filesystem::is_empty(node.dir.path("state/attachments")));
  // Another pod gets it.
  const std::string without_ipam = network(R"("deviceID":"0000:21:10.0")");
  node.container = "c2";
  REQUIRE(node.add(without_ipam));
  const std::string with_c2 = node.world.snapshot();
  node.container = "c1";
  node.install_ipam("fake-ipam", kGivesAnAddress);
  CHECK(node.del(kWithIpam));
  CHECK(node.world.snapshot() == with_c2);
  node.container = "c2";
  CHECK(node.del(without_ipam));
  CHECK(node.world.snapshot() == before);
  CHECK(node.no_state());
}

TEST_CASE("No device's lock is held while an IPAM plugin runs") {
  TwoVfs node;
  node.install_ipam("fake-ipam", kGivesAnAddress);
  REQUIRE(node.add(kWithIpam));
  CHECK(node.text("locks-at-ADD") == kLocksDuringIpam);
  SECTION("by DEL") { REQUIRE(node.del(kWithIpam)); }
  SECTION("by a clean-up") {
    const auto done = clean_up(node);
    REQUIRE(done.ok());
    REQUIRE(*done);
  }
  CHECK(node.text("locks-at-DEL") == kLocksDuringIpam);
  CHECK(node.no_state());
  CHECK(std::filesystem::is_empty(node.dir.path("locks")));
}

TEST_CASE("Verbs of one attachment run one at a time, and the error of one that waited has the holder") {
  TwoVfs node;
  int others = 0;
  node.print_result = [&](const AddResult&) -> Result<> {
    node.print_result = nullptr;
    const std::string what = "ADD of net1 of container c1";
    const auto del = node.del(kWithIpam);
    REQUIRE_FALSE(del);
    CHECK(del.error().code == Errc::busy);
    CHECK_THAT(del.error().text, Contains(what) && Contains("process " + std::to_string(::getpid())));
    const auto second = node.add(kWithIpam);
    REQUIRE_FALSE(second);
    CHECK_THAT(second.error().text, Contains(what));
    CHECK_THAT(clean_up(node).error().text, Contains(what));
    others = 3;
    return {};
  };
  node.install_ipam("fake-ipam", kGivesAnAddress);
  REQUIRE(node.add(kWithIpam));
  CHECK(others == 3);
  CHECK(node.text("verbs") == "ADD IgnoreUnknown=1;MAC=02:00:00:00:00:09\n");
  CHECK(node.has("netns 2 link net1"));
  REQUIRE(node.del(kWithIpam));
  CHECK(node.no_state());
}

TEST_CASE("A DEL with two failures reports both") {
  TwoVfs node;
  node.install_ipam("fake-ipam", "test $CNI_COMMAND = DEL && { echo no lease here; exit 1; }\n" +
                                     std::string(kGivesAnAddress));
  REQUIRE(node.add(kWithIpam));
  node.world.forget_faults();
  node.world.fail_call(2, EIO, FakeWorld::When::before);
  const auto done = node.del(kWithIpam);
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().text, Contains("EIO") && Contains("; also: ") && Contains("no lease here"));
}

TEST_CASE("A roll-back that cannot release the address keeps the record for DEL") {
  TwoVfs node;
  node.install_ipam("fake-ipam", "test -e $node/broken && exit 1\n" + std::string(kGivesAnAddress));
  node.print_result = [&](const AddResult&) -> Result<> {
    std::ofstream(node.dir.path("broken")) << "";
    return Error{Errc::system, EPIPE, "nobody reads it"};
  };
  REQUIRE_FALSE(node.add(kWithIpam));
  CHECK_FALSE(node.no_state());
  CHECK(node.has("netns 1 link vf0"));
  std::filesystem::remove(node.dir.path("broken"));
  REQUIRE(node.del(kWithIpam));
  CHECK(node.no_state());
}

TEST_CASE("A device that is named by its interface and is in use is busy, with its owner") {
  const std::string by = GENERATE(R"("device":"vf0")", R"("hwaddr":"52:54:00:00:00:01")");
  CAPTURE(by);
  TwoVfs node;
  const std::string before = node.world.snapshot();
  const auto mac = node.world.link("vf0").mac.text();
  const std::string config =
      by.find("hwaddr") == std::string::npos ? network(by) : network(R"("hwaddr":")" + mac + "\"");
  REQUIRE(node.add(config));
  node.container = "c2";
  const auto second = node.add(config);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::busy);
  CHECK_THAT(second.error().text, Contains("net1 of container c1"));
  node.container = "c1";
  REQUIRE(node.del(config));
  CHECK(node.world.snapshot() == before);
}

TEST_CASE("A device that is named by its interface and was restored under another name is found") {
  TwoVfs node;
  const std::string config = network(R"("device":"vf0")");
  REQUIRE(node.add(config));
  node.world.end_netns(kPod);
  node.world.add_netns(kPod);
  REQUIRE_FALSE(node.has("link vf0 "));
  node.container = "c2";
  const auto added = node.add(config);
  INFO((added ? "" : added.error().text));
  CHECK(added);
}

TEST_CASE("DEL waits for its device as long as the kernel returns others, which it does one by one") {
  TwoVfs node;
  const std::string config = network(R"("deviceID":"0000:21:10.0")");
  REQUIRE(node.add(config));
  node.paths_gone = true;
  int waits = 0;
  node.world.link_changes_while_waiting = 1;
  node.world.while_waiting = [&] {
    if (++waits == 3) node.world.end_netns(kPod);
  };
  SECTION("while links change") {
    const auto done = node.del(config);
    INFO((done ? "" : done.error().text));
    CHECK(done);
    CHECK(waits == 3);
    CHECK(node.no_state());
  }
  SECTION("not when nothing changes") {
    node.world.link_changes_while_waiting = 0;
    const auto done = node.del(config);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == Errc::busy);
    CHECK(waits == 1);
    CHECK_FALSE(node.no_state());
  }
}

}  // namespace vfrail::test
