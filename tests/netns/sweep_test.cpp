// `vfrail-cni sweep` by the program itself: after a kill, after a pod that ended unasked, beside ADDs and
// DELs, and when a node changes from the real host-device to vfrail with its pods running.
#include "tests/netns/one_pod.h"

#include <filesystem>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

struct Swept : OneDevice {
  Swept() : OneDevice("ip link set vf1 down mtu 1400") { network.set("ipam", host_local()); }
  std::string sweep(const std::vector<std::string>& flags = {}, int status = 0) const {
    std::vector<std::string> arguments{"sweep"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome outcome = command_line(arguments).wait();
    INFO("sweep: " << outcome.out << outcome.err);
    REQUIRE(outcome.status == status);
    return outcome.out;
  }
};

// The state folder as tar would see it: names, texts, modes, times.
std::string state_of(const Node& node) {
  return shell("cd " + node.path("state") +
               " && find . -printf '%p %m %T@ %l\\n' | sort && find . -type f | sort | "
               "xargs -r cat");
}

}  // namespace

TEST_CASE("A sweep leaves an active attachment alone, also in a dry run") {
  Swept node;
  node.done(node.call("ADD"));
  const std::string during = node.world();
  const std::string text =
      "kept: 0000:03:02.1 (net1 of container pod1, network rail0): its pod still exists\n"
      "1 kept\n";
  CHECK(node.sweep({"--dry-run"}) == text);
  CHECK(node.sweep() == text);
  CHECK(node.world() == during);
  node.done(node.call("DEL"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A sweep releases the address of a pod that ended without DEL, a dry run nothing") {
  Swept node;
  node.done(node.call("ADD"));
  node.end_pod(node.pod);
  const std::string state = state_of(node);
  CHECK_THAT(node.sweep({"--dry-run"}), Contains("would be released: 0000:03:02.1") && Contains("has ended"));
  CHECK(state_of(node) == state);
  CHECK(node.leases().size() == 1);
  CHECK_THAT(node.sweep(), Contains("released: 0000:03:02.1") && Contains("\n1 released\n"));
  CHECK(node.leases().empty());
  CHECK(shell("find " + node.path("state") + " ! -type d ! -name uppers.kernel").empty());
}

TEST_CASE("An ADD that was killed after its move, and whose pod has the device, stays until DEL") {
  Swept node;
  node.add_ipam("script-ipam", "test $CNI_COMMAND = DEL && exit 0; kill -9 $PPID; exit 1");
  node.network.set("ipam", *Json::parse(R"({"type":"script-ipam"})"));
  CHECK(node.run(node.call("ADD")).status != 0);
  CHECK_THAT(node.sweep(), Contains("kept"));
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
  node.done(node.call("DEL"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A device that returned to the host without DEL is fully restored by a sweep") {
  Swept node;
  node.done(node.call("ADD"));
  const std::string host_pid = std::to_string(::getpid());
  node.in_pod(node.pod, "ip link set net1 down && ip link set net1 name vf1 netns " + host_pid);
  shell("ip link set vf1 mtu 1280");
  CHECK_THAT(node.sweep(), Contains("released: 0000:03:02.1") && Contains("it is in the host although"));
  CHECK(node.world() == node.before);
}

TEST_CASE("Sweeps in parallel with ADDs and DELs disturb neither them nor each other") {
  Swept node;
  for (int round = 0; round < 8; ++round) {
    std::vector<Program> sweeps;
    Program add = node.start(node.call("ADD"));
    for (int i = 0; i < 3; ++i) sweeps.push_back(node.command_line({"sweep"}));
    const Outcome added = add.wait();
    INFO(added.out << added.err);
    REQUIRE(added.status == 0);
    for (Program& sweep : sweeps) CHECK(sweep.wait().status == 0);
    REQUIRE_FALSE(node.link_in_pod(node.pod, "net1").is_null());
    REQUIRE(node.leases().size() == 1);
    sweeps.clear();
    Program del = node.start(node.call("DEL"));
    for (int i = 0; i < 3; ++i) sweeps.push_back(node.command_line({"sweep"}));
    const Outcome deleted = del.wait();
    INFO(deleted.out << deleted.err);
    REQUIRE(deleted.status == 0);
    for (Program& sweep : sweeps) CHECK(sweep.wait().status == 0);
    REQUIRE(node.world() == node.before);
  }
}

TEST_CASE("An unknown argument is a usage error") {
  Swept node;
  CHECK(node.command_line({"sweep", "--now"}).wait().status == 2);
  CHECK_THAT(node.command_line({"sweep", "--now"}).wait().err,
             Contains("\"--now\" is not an option") && Contains("--dry-run"));
  CHECK(node.command_line({"swep"}).wait().status == 2);
}

TEST_CASE("A state folder that others can write fails a sweep") {
  Swept node;
  std::filesystem::remove_all(node.path("state"));
  write_text(node.path("state"), "a file");
  CHECK_THAT(node.command_line({"sweep"}).wait().err, Contains(node.path("state")));
  node.sweep({}, 1);
}

namespace {

// A node with the real host-device, a pod that it has served, and what libcni kept of that.
struct Migrating : Swept {
  Json host_device;
  std::map<std::string, std::string> environment;

  Migrating() {
    host_device.set("cniVersion", "1.0.0")
        .set("name", "rail0")
        .set("type", "host-device")
        .set("device", "vf1");
    host_device.set("ipam", host_local());
    const Outcome added = plugin("/usr/lib/cni/host-device", "ADD");
    INFO(added.out << added.err);
    REQUIRE(added.status == 0);
    write_text(path("config"), host_device.text());
    std::filesystem::create_directories(path("root/var/lib/cni/results"));
    // As cacheAdd() of libcni writes it.
    write_text(cache(), R"({"kind":"cniCacheV1","containerId":"pod1","config":")" +
                            shell("base64 -w0 < " + path("config")) +
                            R"(","ifName":"net1","networkName":"rail0","netns":")" + pod +
                            R"(","cniArgs":[["IgnoreUnknown","1"]],"result":)" + added.out + "}");
  }
  std::string cache() const { return path("root/var/lib/cni/results/rail0-pod1-net1"); }
  Outcome plugin(const std::string& program, const std::string& verb) const {
    return Program({program},
                   {{"CNI_COMMAND", verb},
                    {"CNI_CONTAINERID", "pod1"},
                    {"CNI_NETNS", pod},
                    {"CNI_IFNAME", "net1"},
                    {"CNI_ARGS", "IgnoreUnknown=1"},
                    {"CNI_PATH", path("bin") + ":/usr/lib/cni"},
                    {"VFRAIL_ROOT", path("root")},
                    {"VFRAIL_STATE_DIR", path("state")},
                    {"VFRAIL_RUN_DIR", path("run")}},
                   host_device.text())
        .wait();
  }
};

}  // namespace

TEST_CASE("A pod of the real host-device is adopted, and its DEL by vfrail under that name detaches it") {
  Migrating node;
  CHECK_THAT(node.sweep(), Contains("attached by host-device, can be taken over with --adopt"));
  CHECK_THAT(node.sweep({"--adopt", "--dry-run"}),
             Contains("would be taken over: netdev.vf1 (net1 of container pod1"));
  CHECK_THAT(node.sweep({"--adopt"}),
             Contains("taken over: netdev.vf1 (net1 of container pod1, network rail0)"));
  CHECK_THAT(node.sweep({"--adopt"}), Contains("its pod still exists"));
  CHECK(node.leases().size() == 1);

  REQUIRE(node.command_line({"install", "--as", "host-device", node.path("bin")}).wait().status == 0);
  const Outcome deleted = node.plugin(node.path("bin/host-device"), "DEL");
  INFO(deleted.out << deleted.err);
  CHECK(deleted.status == 0);
  CHECK(node.world() == node.before);
}

TEST_CASE("A pod of the real host-device that was adopted and ends without DEL is swept, with its address") {
  Migrating node;
  node.sweep({"--adopt"});
  node.end_pod(node.pod);
  CHECK_THAT(node.sweep(), Contains("1 released"));
  CHECK(node.leases().empty());
}

TEST_CASE("A node can go back to the real host-device with a pod that was adopted") {
  Migrating node;
  node.sweep({"--adopt"});
  const Outcome deleted = node.plugin("/usr/lib/cni/host-device", "DEL");
  INFO(deleted.out << deleted.err);
  REQUIRE(deleted.status == 0);
  CHECK_THAT(node.sweep(), Contains("1 released"));
  CHECK(node.world() == node.before);
}

TEST_CASE("Help is printed on stdout, and a usage error suggests the command that was meant") {
  Swept node;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"--help"},
                                                                                     {"-h"},
                                                                                     {"help"},
                                                                                     {"--version"},
                                                                                     {"version"},
                                                                                     {"help", "sweep"},
                                                                                     {"sweep", "--help"},
                                                                                     {"install", "-h"},
                                                                                     {"version", "--help"}}) {
    const Outcome outcome = node.command_line(words).wait();
    INFO(words.front() << " " << words.back());
    CHECK(outcome.status == 0);
    CHECK_FALSE(outcome.out.empty());
    CHECK(outcome.err.empty());
  }
  CHECK_THAT(node.command_line({"sweep", "--help"}).wait().out, Contains("--dry-run"));
  CHECK_THAT(node.command_line({"install", "--help"}).wait().out, Contains("--as NAME"));
  CHECK_THAT(node.command_line({"swep"}).wait().err, Contains("\"sweep\" is probably meant"));
  CHECK(node.command_line({"install"}).wait().status == 2);
}

}  // namespace vfrail::test
