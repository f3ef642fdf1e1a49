// What DEL, a roll-back and a clean-up release, in which order, and under which locks.
#include "cni/verbs/release.h"

#include "cni/ipam/ipam.h"
#include "tests/cni/fake_node.h"
#include "tests/support/deadline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace vfrail::test {
using namespace cni;
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
        const auto record = TRY(world.store.load({"c1", "net1"}));
        return release_if(*record, world, [] { return true; });
      },
      Command::del, kWithIpam);
}

}  // namespace

TEST_CASE("DEL after an ADD that was refused for its configuration succeeds") {
  const std::string keys =
      GENERATE(R"("deviceID":"0000:21:10.0","vlan":5000,"ipam":{"type":"fake-ipam"})",
               R"("deviceID":"0000:21:10.0","mac":"x","ipam":{"type":"fake-ipam"})",
               R"("deviceID":"0000:21:10.0","spoofchk":"perhaps","ipam":{"type":"fake-ipam"})",
               R"("deviceID":"nonsense","ipam":{"type":"fake-ipam"})",
               R"("deviceID":"0000:21:10.0","ipam":{"type":".."})", R"("deviceID":"0000:21:10.0","ipam":7)",
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

TEST_CASE("DEL of a configuration that is JSON for others and too much for vfrail succeeds") {
  TwoVfs node;
  const std::string before = node.world.snapshot();
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  const std::string config = network(R"("deviceID":"0000:21:10.0","x":)" + deep);
  CHECK_FALSE(node.add(config));
  const auto done = node.del(config);
  INFO((done ? "" : done.error().text));
  CHECK(done);
  CHECK(node.world.snapshot() == before);
  CHECK(node.no_state());
  CHECK_FALSE(node.del(config + "}"));  // whose DEL it is, nobody knows
  SECTION("and with a record it goes by the configuration of ADD") {
    REQUIRE(node.add(network(R"("deviceID":"0000:21:10.0")")));
    REQUIRE(node.del(config));
    CHECK(node.world.snapshot() == before);
    CHECK(node.no_state());
  }
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
  // dhcp's address is released before the device, whatever becomes of it.
  const std::string config = network(R"("deviceID":"0000:21:10.0","ipam":{"type":"dhcp"})");
  TwoVfs node;
  node.install_ipam(
      "dhcp", "test $CNI_COMMAND = DEL && { echo no lease here; exit 1; }\n" + std::string(kGivesAnAddress));
  REQUIRE(node.add(config));
  node.world.forget_faults();
  node.world.fail_call(2, EIO, FakeWorld::When::before);
  const auto done = node.del(config);
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().text, Contains("EIO") && Contains("; also: ") && Contains("no lease here"));
}

TEST_CASE("An address stays assigned while its device cannot be detached from the pod") {
  TwoVfs node;
  node.install_ipam("fake-ipam", kGivesAnAddress);
  REQUIRE(node.add(kWithIpam));
  node.world.forget_faults();
  node.world.fail_call(2, EIO, FakeWorld::When::before);
  REQUIRE_FALSE(node.del(kWithIpam));
  CHECK_THAT(node.text("verbs"), !Contains("DEL"));
  REQUIRE(node.del(kWithIpam));
  CHECK_THAT(node.text("verbs"), Contains("DEL"));
  CHECK(node.no_state());
}

TEST_CASE("The address is released where ADD got it, although the network was edited since") {
  const std::string ipam = GENERATE(as<std::string>(), R"("ipam":{"type":"other-ipam"},)",
                                    R"("ipam":{"type":"fake-ipam","range":"other"},)", "");
  CAPTURE(ipam);
  TwoVfs node;
  node.install_ipam("fake-ipam", "cat > $node/asked-$CNI_COMMAND\n" + std::string(kGivesAnAddress));
  node.install_ipam("other-ipam", "exit 1");
  REQUIRE(node.add(network(R"("deviceID":"0000:21:10.0","ipam":{"type":"fake-ipam","range":"first"})")));
  const auto done = node.del(network(
      ipam +
      R"("deviceID":"0000:21:10.0","prevResult":{"cniVersion":"1.0.0","ips":[{"address":"10.9.0.2/24"}]})"));
  INFO((done ? "" : done.error().text));
  CHECK(done);
  CHECK_THAT(node.text("asked-DEL"), Contains(R"("range":"first")") && Contains("10.9.0.2/24"));
  CHECK(node.no_state());
}

TEST_CASE("An ADD under the name of its own orphan releases the orphan's address, too") {
  TwoVfs node;
  node.install_ipam("fake-ipam", kGivesAnAddress);
  REQUIRE(node.add(kWithIpam));
  node.world.end_netns(kPod);
  node.world.add_netns(kPod);
  REQUIRE(node.add(network(R"("deviceID":"0000:21:10.2")")));
  CHECK_THAT(node.text("verbs"), Contains("DEL"));
}

namespace {

// The IPAM plugin of an ADD that is killed once the plugin runs; returns its process.
pid_t leave_plugin(TwoVfs& node) {
  const pid_t add = ::fork();
  if (add == 0) {
    (void)node.process([&](World& world) -> Result<> {
      const auto lock = TRY(world.store.lock_ipam({"c1", "net1"}, world.lock_timeout));
      TRY(run_ipam(node.request(Command::add, kWithIpam), Command::add, "fake-ipam", kForEver, lock.fd()));
      return {};
    });
    ::_exit(0);
  }
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!node.text("pid").ends_with("\n") && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const std::string plugin = node.text("pid");
  REQUIRE(plugin.ends_with("\n"));
  // The parent writes the group just after the plugin has begun.
  while (std::filesystem::file_size(node.dir.path("locks/ipam:c1:net1")) < 512 &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ::kill(add, SIGKILL);
  ::waitpid(add, nullptr, 0);
  return std::stoi(plugin);
}

}  // namespace

TEST_CASE("DEL kills the IPAM plugin of a killed ADD that does not end, and then releases the address") {
  TwoVfs node;
  // Its child has the lock, too.
  node.install_ipam(
      "fake-ipam",
      "test $CNI_COMMAND = ADD && { echo $$ > $node/pid; sleep 3600; echo late >> $node/verbs; }\n"
      "echo $CNI_COMMAND >> $node/verbs");
  const std::string plugin = std::to_string(leave_plugin(node));
  const std::string lock = node.dir.path("locks/ipam:c1:net1");
  REQUIRE(FileLock::is_held(lock));
  std::filesystem::create_directories(node.dir.path("root/proc"));
  std::filesystem::create_directory_symlink("/proc/" + plugin, node.dir.path("root/proc/" + plugin));
  const auto done = node.del(kWithIpam);
  INFO((done ? "" : done.error().text));
  CHECK(done);
  CHECK(node.text("verbs") == "DEL\n");
  CHECK_FALSE(FileLock::is_held(lock));
}

TEST_CASE("DEL is to be repeated while it is not known who still runs an IPAM plugin for the attachment") {
  TwoVfs node;
  node.install_ipam("fake-ipam", kGivesAnAddress);
  REQUIRE(node.add(kWithIpam));
  {
    const auto held = FileLock::acquire(node.dir.path("locks/ipam:c1:net1"), {});
    REQUIRE(held);
    const auto done = node.del(kWithIpam);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == Errc::busy);
    CHECK_THAT(done.error().text, Contains("IPAM plugin of a verb that was killed") && Contains("fuser"));
    CHECK_THAT(node.text("verbs"), !Contains("DEL"));
  }
  REQUIRE(node.del(kWithIpam));
  CHECK(node.no_state());
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

namespace {

// What the fake sysfs does not have by itself: which device the interface of that name is.
void show_interface(const TwoVfs& node, const std::string& name, const std::string& pci) {
  const std::filesystem::path folder = node.dir.path("root/sys/class/net/" + name);
  std::filesystem::create_directories(folder);
  std::filesystem::remove(folder / "device");
  std::filesystem::create_directory_symlink("../../../bus/pci/devices/" + pci, folder / "device");
}

const std::string kByName = network(R"("device":"vf0")");

// The call of an ADD that is the first to change something.
int first_change() {
  TwoVfs node;
  show_interface(node, "vf0", "0000:21:10.0");
  REQUIRE(node.add(kByName));
  const auto& log = node.world.log();
  const auto at = std::find_if(log.begin(), log.end(),
                               [](const std::string& call) { return call.starts_with("change_"); });
  return static_cast<int>(at - log.begin()) + 1;
}

// `meanwhile` runs when the verb looks whether the attachment that had the device still lives.
template <class Meanwhile>
Result<AddResult> add_meanwhile(TwoVfs& node, Meanwhile meanwhile) {
  return node.process([&](World& world) {
    int opened = 0;
    world.open_netns = [&](const std::string& path) {
      if (++opened == 2) meanwhile();  // the first is the pod's own
      return node.world.open_path(path);
    };
    return vfrail::cni::add(node.request(Command::add, kByName), world);
  });
}

}  // namespace

TEST_CASE("A device that is named by an alternative name is attached with all its parts") {
  TwoVfs node;
  show_interface(node, "vf0", "0000:21:10.0");
  node.world.link("vf0").altnames = {"rail0"};
  const std::string before = node.world.snapshot();
  const std::string config = network(R"("device":"rail0")");
  REQUIRE(node.add(config));
  const auto record = node.process([](World& world) { return *world.store.load({"c1", "net1"}); });
  REQUIRE(record);
  CHECK(record->device_key == "0000:21:10.0");
  REQUIRE(record->rdma.size() == 1);
  CHECK(record->rdma.front().name == "mlx5_0");
  REQUIRE(node.del(config));
  CHECK(node.world.snapshot() == before);
}

TEST_CASE("A device is not attached if its name is another's by the time that its lock is held") {
  const int change = first_change();
  TwoVfs node;
  show_interface(node, "vf0", "0000:21:10.0");
  // A record without a move, which is looked at under the device's lock.
  node.world.kill_call(change);
  REQUIRE(killed([&] { (void)node.add(kByName); }));
  node.world.forget_faults();
  REQUIRE(node.has("netns 1 link vf0"));
  node.world.end_netns(kPod);
  node.world.add_netns(kPod);
  node.container = "c2";
  const auto added = add_meanwhile(node, [&] {
    const auto host = node.world.open(FakeWorld::kHost);
    REQUIRE(host->change_link(node.world.link("vf0").index, {.name = "other"}));
    REQUIRE(host->change_link(node.world.link("vf1").index, {.name = "vf0"}));
    show_interface(node, "vf0", "0000:21:10.2");
  });
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Errc::busy);
  CHECK_THAT(added.error().text, Contains("0000:21:10.0") && Contains("0000:21:10.2"));
  CHECK(node.has("netns 1 link vf0"));
}

TEST_CASE("A device is taken from an orphan under its lock, so that no other ADD attaches it meanwhile") {
  TwoVfs node;
  show_interface(node, "vf0", "0000:21:10.0");
  REQUIRE(node.add(kByName));
  node.world.end_netns(kPod);
  node.world.add_netns(kPod);
  node.container = "c2";
  bool refused = false;
  const auto added = add_meanwhile(node, [&] {
    node.container = "c1";
    const auto first = node.add(network(R"("deviceID":"0000:21:10.0")"));
    refused = !first && first.error().code == Errc::busy;
    node.container = "c2";
  });
  INFO((added ? "" : added.error().text));
  CHECK(added);
  CHECK(refused);
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
    node.world.while_waiting = [&] { ++waits; };
    const auto done = node.del(config);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == Errc::busy);
    CHECK(waits == 3);  // two are short, and after each of them namespaces are searched
    CHECK_FALSE(node.no_state());
  }
}

TEST_CASE("A pod whose IPAM plugin refuses ADD and DEL can be deleted") {
  constexpr const char* kRefuses =
      R"(echo "$CNI_COMMAND" >> "$node/verbs"; echo '{"code": 999, "msg": "no such range"}'; exit 1)";
  TwoVfs node;
  const std::string before = node.world.snapshot();
  node.install_ipam("fake-ipam", kRefuses);
  const auto added = node.add(kWithIpam);
  REQUIRE_FALSE(added);
  CHECK_THAT(added.error().text, Contains("no such range"));
  CHECK(node.world.snapshot() == before);
  const auto deleted = node.del(kWithIpam);
  INFO((deleted ? "" : deleted.error().text));
  CHECK(deleted);
  CHECK(node.text("verbs") == "ADD\nDEL\nDEL\n");
  CHECK(node.no_state());
}

TEST_CASE("After an ADD whose IPAM plugin gave no answer, or gave an address, DEL releases it or fails") {
  const std::string refuses_del = R"(test $CNI_COMMAND = DEL && { echo '{"code": 999, "msg": "x"}'; exit 1; }
)";
  const std::string add = GENERATE(as<std::string>(), "exit 1", "kill -9 $$", "echo junk",
                                   R"(echo '{"cniVersion":"1.0.0","ips":[{"address":"10.9.0.2/33"}]}')");
  CAPTURE(add);
  TwoVfs node;
  node.install_ipam("fake-ipam", refuses_del + add);
  REQUIRE_FALSE(node.add(kWithIpam));
  CHECK_FALSE(node.del(kWithIpam));
  CHECK_FALSE(node.no_state());
}

TEST_CASE("DEL without a record that cannot move the interface names it and its device") {
  const auto attached_without_record = [](TwoVfs& node) {
    node.install_ipam("fake-ipam", kGivesAnAddress);
    REQUIRE(node.add(kWithIpam));
    std::filesystem::remove_all(node.dir.path("state"));
    node.world.forget_faults();
  };
  TwoVfs first;
  attached_without_record(first);
  REQUIRE(first.del(kWithIpam));
  const auto& calls = first.world.log();
  const auto move = std::find(calls.begin(), calls.end(), "change_link");
  REQUIRE(move != calls.end());
  TwoVfs node;
  attached_without_record(node);
  node.world.fail_call(static_cast<int>(move - calls.begin()) + 1, EEXIST, FakeWorld::When::before);
  const auto refused = node.del(kWithIpam);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text, Contains("move net1 of 0000:21:10.0 to the host: ") && Contains("EEXIST"));
}

TEST_CASE("DEL without a record succeeds when its IPAM plugin is not installed, with one it fails") {
  TwoVfs node;
  CHECK(node.del(kWithIpam));
  node.install_ipam("fake-ipam", kGivesAnAddress);
  REQUIRE(node.add(kWithIpam));
  std::filesystem::remove(node.dir.path("fake-ipam"));
  const auto deleted = node.del(kWithIpam);
  REQUIRE_FALSE(deleted);
  CHECK_THAT(deleted.error().text, Contains("fake-ipam is not in CNI_PATH"));
}

TEST_CASE("DEL restores its device whatever has been put in the place of its files") {
  const std::string place = GENERATE(
      "state/devices/0000:21:10.0", "state/devices/0000:21:10.0.new", "state/unclean/0000:21:10.0.json",
      "state/baselines/0000:21:10.0.json", "state/baselines/0000:21:10.0.json.new", "locks/0000:21:10.0",
      "locks/attachment:c1:net1", "locks/pod:c1", "locks/ipam:c1:net1", "run/promised/0000:21:10.0.json");
  const bool is_folder = GENERATE(true, false);
  CAPTURE(place, is_folder);
  TwoVfs node;
  node.install_lease_ipam("fake-ipam", kOneAddress);
  const std::string before = node.world.snapshot();
  REQUIRE(node.add(kWithIpam));
  const std::filesystem::path path = node.dir.path(place);
  std::filesystem::remove(path);
  std::filesystem::create_directories(is_folder ? path / "x" : path.parent_path());
  if (!is_folder) REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto done = node.del(kWithIpam);
  INFO((done ? "" : done.error().text));
  CHECK(done);
  CHECK(node.world.snapshot() == before);
  CHECK(std::filesystem::is_empty(node.dir.path("leases")));
  CHECK(std::filesystem::is_empty(node.dir.path("state/attachments")));
}

TEST_CASE("Half a character in a configuration is replaced, as the peers do it, in its record as well") {
  TwoVfs node;
  const std::string before = node.world.snapshot();
  node.install_ipam("fake-ipam", kGivesAnAddress);
  const std::string config = network(R"("deviceID":"0000:21:10.0","x":"\ud800","ipam":{"type":"fake-ipam"})");
  const auto added = node.add(config);
  INFO((added ? "" : added.error().text));
  REQUIRE(added);
  CHECK(node.del(config));
  CHECK(node.world.snapshot() == before);
  CHECK(node.no_state());
  // The network was edited since.
  REQUIRE(node.add(kWithIpam));
  CHECK(node.del(config));
  CHECK(node.world.snapshot() == before);
}

}  // namespace vfrail::test
