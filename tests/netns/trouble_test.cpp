// What happens to a node between ADD and DEL, and what DEL makes of it: each has one defined outcome.
#include "tests/netns/one_pod.h"

#include <filesystem>
#include <sys/mount.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

// A node whose state folder is a file system of its own, so that it can be filled up and made read-only.
struct Troubled : OneDevice {
  Troubled() {
    network.set("ipam", host_local());
    std::filesystem::create_directories(path("state"));
    REQUIRE(::mount("state", path("state").c_str(), "tmpfs", 0, "mode=700,size=256k,nr_inodes=40") == 0);
    // The folders that the first ADD makes stay.
    run_well("ADD");
    run_well("DEL");
    before = world();
  }
  ~Troubled() { ::umount2(path("state").c_str(), MNT_DETACH); }
  Troubled(const Troubled&) = delete;
  Troubled& operator=(const Troubled&) = delete;

  void run_well(const std::string& verb) const { done(call(verb)); }
  void remount(const char* options) const {
    const unsigned long flags = std::string(options) == "ro" ? MS_RDONLY : 0;
    REQUIRE(::mount("state", path("state").c_str(), "tmpfs", MS_REMOUNT | flags, "") == 0);
  }
  // As many files as fit, then as many bytes.
  void fill() const {
    shell("cd " + path("state") +
          "; mkdir full; i=0; while touch full/$i; do i=$((i+1)); done 2> /dev/null;"
          "cat /dev/zero > full/0 2> /dev/null || true");
  }
};

}  // namespace

TEST_CASE("A full state folder: ADD changes nothing, DEL restores everything") {
  Troubled node;
  SECTION("before ADD") {
    node.fill();
    const std::string full = node.world();
    const Outcome outcome = node.run(node.call("ADD"));
    CHECK(outcome.status != 0);
    CHECK_THAT(message_of(outcome), Contains("ENOSPC") && Contains(node.path("state")));
    CHECK(node.world() == full);
  }
  SECTION("between ADD and DEL") {
    node.run_well("ADD");
    node.fill();
    const Outcome outcome = node.run(node.call("DEL"));
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 0);
    CHECK(node.leases().empty());
    std::filesystem::remove_all(node.path("state/full"));
    CHECK(node.world() == node.before);
  }
}

TEST_CASE("A read-only state folder: ADD changes nothing, DEL says why and can be repeated") {
  Troubled node;
  SECTION("before ADD") {
    node.remount("ro");
    const Outcome outcome = node.run(node.call("ADD"));
    CHECK(outcome.status != 0);
    CHECK_THAT(message_of(outcome), Contains("EROFS") && Contains(node.path("state")));
    CHECK(node.world() == node.before);
  }
  SECTION("between ADD and DEL") {
    node.run_well("ADD");
    node.remount("ro");
    const Outcome outcome = node.run(node.call("DEL"));
    CHECK(outcome.status != 0);
    CHECK_THAT(message_of(outcome), Contains("EROFS") && Contains(node.path("state")));
    node.remount("rw");
    node.run_well("DEL");
    CHECK(node.world() == node.before);
  }
}

TEST_CASE("A reboot: the record is dropped and the address released, no device is touched") {
  Troubled node;
  node.run_well("ADD");
  // What a boot does: the namespace is gone, hardware is as new, only files are left.
  write_text(node.path("root/proc/sys/kernel/random/boot_id"), "5f1d0a5c-0000-4000-8000-000000000002\n");
  const std::string pod_before = node.in_pod(node.pod, "ip -d link show net1");
  node.run_well("DEL");
  CHECK(node.leases().empty());
  CHECK(node.in_pod(node.pod, "ip -d link show net1") == pod_before);
  CHECK(shell("find " + node.path("state") + " ! -type d ! -path \"*/baselines/*\"").empty());
}

// A node that is itself a container (kind) keeps its files when it is started again, and the machine its
// boot.
TEST_CASE("A new namespace of the host: what has name and index of an ended interface there is left alone") {
  Troubled node;
  const std::string link = shell("ip -o link show vf1");  // "7: vf1@vf1p: <BROADCAST,MULTICAST,UP..."
  const std::string index = link.substr(0, link.find(':'));
  node.run_well("ADD");
  node.end_pod(node.pod);
  Call call = node.call("DEL");
  call.prefix = {
      "unshare",
      "--net",
      "sh",
      "-c",
      "ip link add name vf1 index " + index +
          " address 02:00:00:00:00:99 type veth peer name q; \"$@\"; status=$?; ip link show vf1 > " +
          node.path("link") + "; exit $status",
      "sh"};
  const Outcome outcome = node.run(call);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(read_text(node.path("link")), Contains("02:00:00:00:00:99"));
  CHECK(node.leases().empty());
  CHECK(shell("find " + node.path("state") + " ! -type d ! -name uppers.kernel").empty());
}

TEST_CASE("A name that is in use in the host by now: the device is restored under another one") {
  Troubled node;
  node.run_well("ADD");
  shell("ip link add name vf1 type veth peer name q");
  node.run_well("DEL");
  CHECK_THAT(shell("ip -br link"), Contains("dev0"));
  CHECK(shell("find " + node.path("state") + " ! -type d ! -path \"*/baselines/*\"").empty());
}

TEST_CASE("An alternative name that is in use in the host by now: the device is restored without it") {
  Troubled node;
  shell("ip link property add dev vf1 altname rail0");
  node.run_well("ADD");
  shell("ip link add name other type veth peer name q && ip link property add dev other altname rail0");
  node.run_well("DEL");
  CHECK_THAT(shell("ip link show vf1"), !Contains("altname"));
  CHECK_THAT(shell("ip link show other"), Contains("altname rail0"));
}

TEST_CASE("A DEL that the kernel refuses says which request, of which interface, and can be repeated") {
  Troubled node;
  node.run_well("ADD");
  Call refused = node.call("DEL");
  refused.prefix = {"setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-all"};
  const Outcome outcome = node.run(refused);
  CHECK(outcome.status != 0);
  CHECK_THAT(message_of(outcome),
             Catch::Matches("restore 0000:03:02.1: move net1 back to the host as vf1: change link [0-9]+: "
                            "EPERM \\(Operation not permitted\\).*"));
  node.run_well("DEL");
  CHECK(node.world() == node.before);
}

TEST_CASE("A device that was removed while it was attached needs no restore") {
  Troubled node;
  node.run_well("ADD");
  node.in_pod(node.pod, "ip link del net1");
  node.run_well("DEL");
  CHECK(node.leases().empty());
  CHECK(shell("find " + node.path("state") + " ! -type d ! -path \"*/baselines/*\"").empty());
}

}  // namespace vfrail::test
