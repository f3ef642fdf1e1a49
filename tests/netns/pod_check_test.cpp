// vfrail-check as it runs in a pod: a root file system that has nothing but it, its own namespaces, real
// device nodes, interfaces, limits and mounts. sysfs is made up: this machine may have no RDMA device.
#include "common/json.h"
#include "tests/cni/in_pod/pod_tree.h"
#include "tests/netns/program.h"
#include "tests/support/places.h"

#include <map>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace pod;
namespace {

// The container's command can be changed, and what is run before it.
struct Container {
  std::string before = {};  // commands in its namespaces; $T is its root
  std::string start = "chroot $T";
};

// What stands in every container: nodes that open, as those of /dev/null do, and three interfaces.
constexpr const char* kSetUp = R"(
mount -t proc proc $T/proc
rm -rf $T/dev && mkdir $T/dev && mount -t tmpfs -o size=1m dev $T/dev && mkdir $T/dev/infiniband $T/dev/shm
mount -t tmpfs -o size=2g shm $T/dev/shm
for node in infiniband/uverbs2 infiniband/uverbs6 infiniband/umad2 infiniband/rdma_cm nvidia0; do
  mknod -m 666 $T/dev/$node c 1 3
done
ip link set lo up
for one in eth0:10.244.1.7/24 net1:10.0.0.2/24 net2:10.0.1.2/24; do
  ip link add ${one%%:*} type veth peer name ${one%%:*}p
  ip link set ${one%%:*}p up
  ip addr add ${one#*:} dev ${one%%:*}
  ip link set ${one%%:*} up
done
ip route add default via 10.244.1.1
set_arp() { for one in net1 net2; do echo $1 > $T/proc/sys/net/ipv4/conf/$one/arp_ignore; echo $2 > $T/proc/sys/net/ipv4/conf/$one/arp_announce; done; }
set_arp 1 2
)";

// Id -> the first finding, "fault: TEXT", of those that are neither good nor unknown.
std::map<std::string, std::string> check_in(const Container& container) {
  PodTree tree;
  for (const char* node : {"0000:17:00.1/infiniband_verbs/uverbs2", "0000:17:01.1/infiniband_verbs/uverbs6"})
    tree.add("sys/devices/pci0000:16/0000:16:01.0/" + std::string(node) + "/dev = 1:3\n");
  shell("cp " + test::program_path("vfrail-check") + " " + tree.root() + "/vfrail-check && chmod 755 " +
        tree.root());
  Program program({"unshare", "--mount", "--net", "--pid", "--fork", "bash", "-euc",
                   "T=" + tree.root() + "\n" + kSetUp + container.before + "\nexec " + container.start +
                       " /vfrail-check -o json --fail-on note"},
                  {}, "");
  const Outcome outcome = program.wait();
  CAPTURE(outcome.out, outcome.err);
  const auto json = Json::parse(outcome.out);
  REQUIRE(json);
  std::map<std::string, std::string> out;
  for (const Json& check : *json->find("checks")->as_array()) {
    const std::string finding = *check.find("finding")->as_text();
    if (finding != "ok" && finding != "unknown" && finding != "not-applicable")
      out.emplace(*check.find("id")->as_text(), finding + ": " + *check.find("text")->as_text());
  }
  CHECK(outcome.status == (out.empty() ? 0 : 1));
  return out;
}

// The one finding, which is that of this check.
std::string only(const Container& container, const std::string& id) {
  auto found = check_in(container);
  CAPTURE(found);
  CHECK(found.size() == 1);
  return found[id];
}

using Catch::StartsWith;

}  // namespace

TEST_CASE("A pod in which nothing is wrong has no finding") {
  CHECK(check_in({}) == std::map<std::string, std::string>());
}

TEST_CASE("A limit of locked memory is found by trying, for root without IPC_LOCK and for other users") {
  CHECK_THAT(only({.start = "prlimit --memlock=65536 chroot --userspec=1000:1000 $T"}, "VF-P10"),
             StartsWith("fault: this process may lock 64 KiB; IPC_LOCK is given to the container"));
  CHECK_THAT(only({.start = "prlimit --memlock=65536 setpriv --bounding-set -ipc_lock chroot $T"}, "VF-P10"),
             StartsWith("fault: this process may lock 64 KiB; root has no IPC_LOCK (mlock of 64 MiB: "));
  // IPC_LOCK of root needs no limit.
  CHECK(check_in({.start = "prlimit --memlock=65536 chroot $T"}).empty());
}

TEST_CASE("A small /dev/shm is found where there is a GPU") {
  const std::string small = "umount $T/dev/shm; mount -t tmpfs -o size=64m shm $T/dev/shm\n";
  CHECK(only({.before = small}, "VF-P12").starts_with("fault: /dev/shm has 64 MiB for 1 GPU"));
  CHECK(check_in({.before = small + "rm $T/dev/nvidia0"}).empty());
}

TEST_CASE("Device nodes that are missing, are another device's or do not open are found") {
  CHECK(only({.before = "rm $T/dev/infiniband/uverbs6"}, "VF-P02") ==
        "fault: visible, and no node in /dev/infiniband: mlx5_6 (net2)");
  const std::string remake = "rm $T/dev/infiniband/uverbs6; mknod -m ";
  CHECK(only({.before = remake + "666 $T/dev/infiniband/uverbs6 c 1 5"}, "VF-P04") ==
        "fault: /dev/infiniband/uverbs6 is device 1:5, and mlx5_6 is 1:3");
  // By a user who is not root, and may not lock memory here either.
  auto found = check_in(
      {.before = remake + "600 $T/dev/infiniband/uverbs6 c 1 3", .start = "chroot --userspec=1000:1000 $T"});
  CHECK(found["VF-P04"] == "fault: /dev/infiniband/uverbs6 cannot be opened: EACCES (Permission denied)");
}

TEST_CASE("Two rails of one subnet, and a default route over a rail, are found") {
  const std::string same =
      "ip addr flush dev net2; ip addr add 10.0.0.9/24 dev net2; ip addr add 10.0.1.2/24 dev net2\n";
  auto found = check_in({.before = same});
  CHECK_THAT(found["VF-P16"],
             StartsWith("advice: net1 (10.0.0.2/24) and net2 (10.0.0.9/24) are in one subnet, and no rule"));
  found = check_in(
      {.before = same +
                 "set_arp 0 0; for one in 10.0.0.2:101 10.0.0.9:102; do ip rule add from ${one%:*} table "
                 "${one#*:}; done\n"});
  CHECK_THAT(found["VF-P16"],
             StartsWith("advice: net1 (10.0.0.2/24) and net2 (10.0.0.9/24) are in one subnet, "
                        "and net1 answers ARP"));
  CHECK_THAT(only({.before = "set_arp 0 2"}, "VF-P16"),
             StartsWith("advice: net1 net2 answer ARP for the addresses of the other rails"));
  CHECK(only({.before = "ip route replace default via 10.0.0.1"}, "VF-P17") ==
        "advice: the default route leads over mlx5_2 (net1): Services and DNS of the cluster may be "
        "unreachable");
}

TEST_CASE("The address whose GID is missing is found in the interfaces, not in sysfs") {
  CHECK(only({.before = "ip addr add 10.0.7.7/24 dev net1"}, "VF-P08") ==
        "fault: mlx5_2 (net1) has no GID of RoCE v2 for 10.0.7.7");
}

}  // namespace vfrail::test
