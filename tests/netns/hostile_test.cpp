// A pod with CAP_NET_ADMIN against the node and the pods after it, in real namespaces: whatever it has done,
// DEL restores a clean device, and durations are printed. With a real VF and an RDMA device:
// tests/lab/hostile_test.sh.
#include "common/netlink/messages.h"
#include "common/netlink/netlink_kernel.h"
#include "tests/netns/node.h"
#include "tests/support/places.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

constexpr int kMany = 10'000;

// Two devices, two pods, and the namespace of somebody who works with the first pod.
struct Hostile : Node {
  std::string pod, other, accomplice;
  std::string before;
  Hostile() {
    add_device("0000:03:02.1", "vf1");
    add_device("0000:03:02.2", "vf2");
    pod = add_pod("a");
    other = add_pod("b");
    accomplice = add_pod("c");
    before = world();
  }
  Call call(const std::string& verb, const std::string& container = "pod1") const {
    Call out;
    out.verb = verb;
    out.container = container;
    out.netns = container == "pod1" ? pod : other;
    out.config = config();
    out.config.set("deviceID", container == "pod1" ? "0000:03:02.1" : "0000:03:02.2");
    out.config.set("ipam", host_local());
    return out;
  }
  void run_well(const Call& call) const {
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = run(call);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    INFO(call.verb << ": " << outcome.out << outcome.err);
    REQUIRE(outcome.status == 0);
    WARN(call.verb << " took " << took.count() << " ms");
  }
  // Commands of `ip`, in one process.
  void batch(const std::string& netns, const std::string& commands) const {
    std::ofstream(path("batch")) << commands;
    in_pod(netns, "ip -batch " + path("batch"));
  }
  bool nothing_of_ours() const {
    return leases().empty() &&
           shell("find " + path("state") + " ! -type d ! -path \"*/baselines/*\"").empty();
  }
};

enum class Keeper : unsigned char { descriptor, descriptor_of_thread, unmounted, socket, thread, mount };
constexpr const char* kKeepers[] = {"descriptor",
                                    "descriptor of a thread",
                                    "descriptor of a mount point that is unmounted",
                                    "socket",
                                    "thread",
                                    "mount"};

// A process of an accomplice in the host's network namespace that keeps another one alive, which nothing is
// in (but a thread, as Keeper::thread). The node's /proc shows the process.
class Hidden {
 public:
  Hidden(const Node& node, Keeper keeper) {
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    const std::string mount_point = node.path("mounted");
    write_text(mount_point, "");
    pid_ = ::fork();
    if (pid_ == 0) keep(keeper, mount_point, ready[1]);
    char byte = 0;
    ::close(ready[1]);
    // This process is not in the node's /proc, so its own descriptor is seen by nobody.
    int tid = 0;
    REQUIRE(::read(ready[0], &tid, sizeof tid) == sizeof tid);
    fd_ = ::open(("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(tid) + "/ns/net").c_str(),
                 O_RDONLY | O_CLOEXEC);
    REQUIRE(fd_ >= 0);
    ::kill(pid_, SIGUSR1);
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
    const std::string name = std::to_string(pid_);
    std::filesystem::create_directory_symlink("/proc/" + name, node.path("root/proc/" + name));
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;
  ~Hidden() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(fd_);
  }
  std::string path() const { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_); }

 private:
  static void must(bool holds) {
    if (!holds) ::_exit(1);
  }
  // Shows the test the namespace, reads that it has it, and leaves it; writes after each.
  static void in_and_out(Keeper keeper, const std::string& mount_point, int ready) {
    const int own = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (keeper == Keeper::descriptor_of_thread) must(::unshare(CLONE_FILES) == 0);
    must(::unshare(CLONE_NEWNET) == 0);
    const int tid = static_cast<int>(::syscall(SYS_gettid));
    const bool keeps_fd = keeper == Keeper::descriptor || keeper == Keeper::descriptor_of_thread;
    if (keeps_fd) must(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC) >= 0);
    if (keeper == Keeper::socket) must(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0);
    if (keeper == Keeper::mount || keeper == Keeper::unmounted) {
      must(::unshare(CLONE_NEWNS) == 0);
      must(::mount("/proc/thread-self/ns/net", mount_point.c_str(), nullptr, MS_BIND, nullptr) == 0);
    }
    if (keeper == Keeper::unmounted) {
      must(::open(mount_point.c_str(), O_RDONLY | O_CLOEXEC) >= 0);
      must(::umount2(mount_point.c_str(), MNT_DETACH) == 0);
    }
    must(::write(ready, &tid, sizeof tid) == sizeof tid);
    sigset_t usr1;
    ::sigemptyset(&usr1);
    ::sigaddset(&usr1, SIGUSR1);
    int signal = 0;
    must(::sigwait(&usr1, &signal) == 0);
    if (keeper != Keeper::thread) must(::setns(own, CLONE_NEWNET) == 0);
    must(::write(ready, "", 1) == 1);
    for (;;) ::pause();
  }
  [[noreturn]] static void keep(Keeper keeper, const std::string& mount_point, int ready) {
    sigset_t usr1;
    ::sigemptyset(&usr1);
    ::sigaddset(&usr1, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &usr1, nullptr);
    if (keeper == Keeper::thread || keeper == Keeper::descriptor_of_thread) {
      std::thread(in_and_out, keeper, mount_point, ready).join();
    } else {
      in_and_out(keeper, mount_point, ready);
    }
    ::_exit(0);
  }

  pid_t pid_ = -1;
  int fd_ = -1;
};

// The kernel has that kind of interface.
bool can_stack(const std::string& kind) {
  return shell("unshare -n sh -c \"ip link add lower type veth; ip link add spy link lower type " + kind +
               " && echo yes\" 2> /dev/null || true") == "yes\n";
}

// As a pod can without any descriptor of the host's namespace. An interface with its peer in the host, as all
// have here and as eth0 is, has given the pod's namespace a number for the host's.
void move_to_host(const std::string& pod, const std::string& name) {
  auto netns = Netns::open(pod);
  const auto host = Netns::current();
  REQUIRE((netns && *netns && host));
  auto kernel = NetlinkKernel::open(std::move(**netns));
  netns = Netns::open(pod);
  const auto nsid = (*kernel)->nsid_of(host->fd());
  const auto link = (*kernel)->find_link(name);
  REQUIRE((nsid && *nsid && link && *link));
  const auto scope = NetnsScope::enter(**netns, *host);
  auto socket = NlSocket::open(NETLINK_ROUTE);
  NlMessage message = link_message(RTM_SETLINK, 0, (*link)->index);
  message.put_u32(IFLA_TARGET_NETNSID, static_cast<uint32_t>(**nsid));
  REQUIRE(socket->request(message).ok());
}

// With 496 alternative names, as many as the kernel accepts, the interface's message is longer than 64 KiB.
std::string many_names(const std::string& name, int count = 496) {
  std::string out;
  for (int i = 1000; i < 1000 + count; ++i)
    out += "link property add dev " + name + " altname " + std::to_string(i) + std::string(123, 'x') + "\n";
  return out;
}

std::string octets(int i) { return std::to_string(i / 250) + "." + std::to_string(i % 250 + 1); }

}  // namespace

TEST_CASE("Names, addresses, flags, queues and lists that a pod has set are gone after DEL") {
  Hostile node;
  node.run_well(node.call("ADD"));
  node.in_pod(
      node.pod,
      "ip link set net1 down; ip link set net1 name evil0; ip link set evil0 address 02:00:00:00:66:66;"
      "ip link set evil0 mtu 1300 promisc on allmulticast on txqueuelen 7 alias evil up;"
      "ip link property add dev evil0 altname vf2x altname another-device-of-this-node;"
      "ip link set evil0 broadcast 02:00:00:00:66:02;"
      "tc qdisc add dev evil0 clsact; tc qdisc add dev evil0 root tbf rate 1mbit burst 10k latency 50ms;"
      "ip neigh add 10.7.0.9 lladdr 02:00:00:00:66:01 dev evil0; ip maddr add 01:00:5e:00:66:66 dev evil0;"
      "bridge fdb add 02:00:00:00:66:55 dev evil0 self;"
      "ip link add b0 type bridge; ip link set evil0 master b0; ip link set b0 up");
  SECTION("by DEL") { node.run_well(node.call("DEL")); }
  CHECK(node.world() == node.before);
  CHECK_THAT(shell("tc qdisc show dev vf1"), !Contains("tbf") && !Contains("clsact"));
  CHECK_THAT(shell("ip maddr show dev vf1; bridge fdb show dev vf1; ip neigh"), !Contains("66:"));
}

TEST_CASE("What a pod has stacked upon its interface is gone after DEL, wherever it has moved it") {
  Hostile node;
  if (GENERATE(false, true)) node.forget_kernel(Node::KernelTypes::not_described);
  node.run_well(node.call("ADD"));
  const std::string mode = GENERATE(as<std::string>(), "passthru", "passthru nopromisc", "bridge", "vepa");
  CAPTURE(mode);
  const std::string make = "ip link add spy link net1 type macvlan mode " + mode;
  SECTION("in the pod") {
    node.in_pod(node.pod, make + "; ip link set spy up");
    node.run_well(node.call("DEL"));
    CHECK_THAT(node.in_pod(node.pod, "ip link"), !Contains("spy"));
  }
  SECTION("in the namespace of an accomplice") {
    node.in_pod(node.pod, make + "; ip link set spy netns " + node.accomplice);
    node.in_pod(node.accomplice, "ip link set spy up");
    node.run_well(node.call("DEL"));
    CHECK_THAT(node.in_pod(node.accomplice, "ip link"), !Contains("spy"));
  }
  // The next pod can have it, and what a bridge would refuse is free.
  shell("ip link add probe type bridge; ip link set vf1 master probe; ip link del probe");
  CHECK(node.world() == node.before);
}

TEST_CASE("What a pod has stacked and moved into the host, by its number for it, is gone after DEL") {
  Hostile node;
  // The host's own interface on the device stays.
  shell("ip link add own link vf1 type macvlan mode bridge");
  write_tree(node.path("root"),
             "sys/class/net/vf1/upper_own -> ../own\nsys/class/net/vf1/upper_spy -> ../spy\n");
  node.before = node.world();
  node.run_well(node.call("ADD"));
  node.in_pod(node.pod, "ip link add spy link net1 type macvlan mode bridge");
  move_to_host(node.pod, "spy");
  CHECK_THAT(shell("ip link show spy"), Contains("spy@"));
  const Outcome outcome = node.run(node.call("DEL"));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Contains("removed interfaces that a pod had stacked") && Contains("spy (macvlan)"));
  CHECK(node.world() == node.before);
}

TEST_CASE("With podNetAdmin, what is stacked is found in a namespace that no process is in, too") {
  Hostile node;
  if (GENERATE(false, true)) node.forget_kernel(Node::KernelTypes::not_described);
  const int keeper = GENERATE(range(0, 6));
  CAPTURE(kKeepers[keeper]);
  Hidden hidden(node, static_cast<Keeper>(keeper));
  Call add = node.call("ADD");
  add.config.set("podNetAdmin", true);
  Call del = node.call("DEL");
  del.config = add.config;
  for (const std::string kind : {"macvlan mode passthru", "macvlan mode passthru nopromisc",
                                 "macvlan mode bridge", "macvlan mode vepa", "ipvlan mode l2", "vlan id 7"}) {
    CAPTURE(kind);
    if (!can_stack(kind)) {
      WARN("this kernel has no " << kind << "; tests/lab/hostile_test.sh has it");
      continue;
    }
    node.run_well(add);
    // Not by way of the pod, which then has a number for that namespace.
    node.in_pod(node.pod, "ip link add spy link net1 netns " + hidden.path() + " type " + kind);
    node.in_pod(hidden.path(), "ip link set spy up || true");  // net1 is up, so it is, too
    const Outcome outcome = node.run(del);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.err, Contains("removed interfaces that a pod had stacked") && Contains("spy"));
    CHECK_THAT(outcome.err, !Contains("rebinding"));
    CHECK_THAT(node.in_pod(hidden.path(), "ip link"), !Contains("spy"));
    shell("ip link add probe type bridge; ip link set vf1 master probe; ip link del probe");
    CHECK(node.world() == node.before);
  }
}

TEST_CASE("Without podNetAdmin hidden namespaces are searched once a pod has left a trace") {
  Hostile node;
  node.forget_kernel(Node::KernelTypes::not_described);
  Hidden hidden(node, Keeper::descriptor);
  node.run_well(node.call("ADD"));
  const std::string kind = GENERATE(as<std::string>(), "promiscuous", "one in sight", "a program");
  CAPTURE(kind);
  const std::string mode = kind == "promiscuous" ? "passthru" : "bridge";
  node.in_pod(node.pod, "ip link add spy link net1 netns " + hidden.path() + " type macvlan mode " + mode);
  node.in_pod(hidden.path(), "ip link set spy up");
  if (kind == "one in sight") node.in_pod(node.pod, "ip link add m0 link net1 type macvlan mode bridge");
  if (kind == "a program") node.in_pod(node.pod, test::program_path("attach_program") + " generic net1");
  const Outcome outcome = node.run(node.call("DEL"));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, !Contains("rebinding"));
  CHECK_THAT(node.in_pod(hidden.path(), "ip link"), !Contains("spy"));
  CHECK(node.world() == node.before);
}

TEST_CASE(
    "Without podNetAdmin what is stacked is found in a namespace that no process is in, by the kernel's "
    "list") {
  Hostile node;
  const int keeper = GENERATE(range(0, 6));
  CAPTURE(kKeepers[keeper]);
  Hidden hidden(node, static_cast<Keeper>(keeper));
  node.run_well(node.call("ADD"));
  node.in_pod(node.pod, "ip link add spy link net1 netns " + hidden.path() + " type macvlan mode bridge");
  const Outcome outcome = node.run(node.call("DEL"));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Contains("removed interfaces that a pod had stacked") && Contains("spy"));
  CHECK_THAT(node.in_pod(hidden.path(), "ip link"), !Contains("spy"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A process that opens, closes and ends all the time makes no DEL fail") {
  Hostile node;
  Call add = node.call("ADD");
  add.config.set("podNetAdmin", true);
  Call del = node.call("DEL");
  del.config = add.config;
  // Their processes, and no others of this machine, which this test may not be allowed to look at.
  std::filesystem::remove_all(node.path("root/proc"));
  std::filesystem::create_directory_symlink("/proc", node.path("root/proc"));
  del.prefix = {"unshare",
                "--pid",
                "--fork",
                "--mount-proc",
                "/bin/sh",
                "-c",
                "for i in 1 2 3 4; do while :; do (exec 7< /proc/self/ns/net 8< /proc/self/ns/mnt; "
                "unshare -n true) & wait; done > /dev/null 2>&1 & done; sleep 0.2; \"$@\"",
                "sh"};
  for (int i = 0; i < 5; ++i) {
    node.run_well(add);
    node.run_well(del);
  }
  CHECK(node.world() == node.before);
}

TEST_CASE("A hundred interfaces stacked upon the device are removed at once") {
  Hostile node;
  node.run_well(node.call("ADD"));
  std::string commands;
  for (int i = 0; i < 100; ++i)
    commands += "link add m" + std::to_string(i) + " link net1 type macvlan mode bridge\n";
  node.batch(node.pod, commands);
  node.run_well(node.call("DEL"));
  CHECK_THAT(node.in_pod(node.pod, "ip -br link"), !Contains("m99") && !Contains("m0"));
  CHECK(node.world() == node.before);
}

TEST_CASE("An interface that has all the names it can have is found, and loses them") {
  Hostile node;
  node.run_well(node.call("ADD"));
  const std::string make = "ip link add spy link net1 type macvlan mode bridge";
  // With 480 the answer fills the socket, and the kernel drops what it would send behind it.
  SECTION("the device itself") { node.batch(node.pod, many_names("net1", GENERATE(480, 496))); }
  SECTION("the device itself, whose namespace has ended") {
    node.batch(node.pod, many_names("net1"));
    node.in_pod(node.pod, "ip link set net1 netns " + std::to_string(::getpid()) + " name vf1");
    REQUIRE(shell("ip -br link show vf1").find("vf1") != std::string::npos);
  }
  SECTION("stacked on it in the pod") {
    node.in_pod(node.pod, make + "; ip link set spy up");
    node.batch(node.pod, many_names("spy"));
  }
  SECTION("stacked on it in the namespace of an accomplice") {
    node.in_pod(node.pod, make + "; ip link set spy netns " + node.accomplice);
    node.in_pod(node.accomplice, "ip link set spy up");
    node.batch(node.accomplice, many_names("spy"));
  }
  node.run_well(node.call("DEL"));
  CHECK_THAT(node.in_pod(node.pod, "ip link") + node.in_pod(node.accomplice, "ip link"), !Contains("spy"));
  CHECK(node.world() == node.before);
  CHECK(node.nothing_of_ours());
}

TEST_CASE(
    "With podNetAdmin, an interface that has all the names it can have is found in a hidden namespace") {
  Hostile node;
  Hidden hidden(node, Keeper::descriptor);
  Call add = node.call("ADD");
  add.config.set("podNetAdmin", true);
  Call del = node.call("DEL");
  del.config = add.config;
  node.run_well(add);
  node.in_pod(node.pod, "ip link add spy link net1 netns " + hidden.path() + " type macvlan mode bridge");
  node.in_pod(hidden.path(), "ip link set spy up");
  node.batch(hidden.path(), many_names("spy"));
  node.run_well(del);
  CHECK_THAT(node.in_pod(hidden.path(), "ip link"), !Contains("spy"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A program that a pod has attached does not run in the next pod") {
  Hostile node;
  node.run_well(node.call("ADD"));
  const std::string how = GENERATE(as<std::string>(), "generic", "native", "link", "tcx");
  CAPTURE(how);
  Program holder({"/usr/bin/nsenter", "--net=" + node.pod, "/bin/sh", "-c",
                  "(sleep 300 | exec " + test::program_path("attach_program") + " " + how + " net1) > " +
                      node.path("attached") + " 2>&1"},
                 {}, "");
  for (int i = 0; i < 600 && read_text(node.path("attached")).empty(); ++i) shell("sleep 0.1");
  REQUIRE(read_text(node.path("attached")) == "attached\n");
  node.run_well(node.call("DEL"));
  CHECK_THAT(shell("ip -d link show vf1"), !Contains("xdp"));
  // Nothing is left to be detached.
  node.run_well(node.call("ADD"));
  CHECK_THAT(node.in_pod(node.pod, "ip -d link show net1"), !Contains("xdp"));
  const Outcome again = node.run(node.call("DEL"));
  CHECK(again.status == 0);
  CHECK_THAT(again.err, !Contains("program"));
  CHECK(node.world() == node.before);
}

TEST_CASE("The program that another pod has on an interface of the same index stays attached") {
  Hostile node;
  const std::string index = shell("ip -o link show vf1");
  node.in_pod(node.other, "ip link add eth0 index " + index.substr(0, index.find(':')) +
                              " type veth peer name eth0p; ip link set eth0 up");
  node.run_well(node.call("ADD"));
  const auto attach = [&](const std::string& netns, const std::string& interface) {
    const std::string said = node.path("attached-" + interface);
    Program holder({"/usr/bin/nsenter", "--net=" + netns, "/bin/sh", "-c",
                    "(sleep 300 | exec " + test::program_path("attach_program") + " link " + interface +
                        ") > " + said + " 2>&1"},
                   {}, "");
    for (int i = 0; i < 600 && read_text(said).empty(); ++i) shell("sleep 0.1");
    REQUIRE(read_text(said) == "attached\n");
    return holder;
  };
  // The older of the two is listed first.
  const bool other_first = GENERATE(true, false);
  CAPTURE(other_first);
  std::vector<Program> holders;
  for (const bool other : {other_first, !other_first})
    holders.push_back(other ? attach(node.other, "eth0") : attach(node.pod, "net1"));
  node.run_well(node.call("DEL"));
  CHECK_THAT(shell("ip -d link show vf1"), !Contains("xdp"));
  CHECK_THAT(node.in_pod(node.other, "ip -d link show eth0"), Contains("xdp"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A program that is on the device at ADD does not run in the pod") {
  Hostile node;
  shell(test::program_path("attach_program") + " generic vf1");
  REQUIRE_THAT(shell("ip -d link show vf1"), Contains("xdp"));
  node.run_well(node.call("ADD"));
  CHECK_THAT(node.in_pod(node.pod, "ip -d link show net1"), !Contains("xdp"));
  node.run_well(node.call("DEL"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A pod full of addresses, routes, rules and neighbours is detached in bounded time") {
  Hostile node;
  const Call add = node.call("ADD");
  Call check = node.call("CHECK");
  const Outcome added = node.run(add);
  REQUIRE(added.status == 0);
  check.config.set("prevResult", json_of(added));
  std::string commands;
  for (int i = 0; i < kMany; ++i) {
    commands += "addr add 10.66." + octets(i) + "/16 dev net1\n";
    commands += "route add 10.67." + octets(i) + "/32 dev net1\n";
    commands += "rule add from 10.68." + octets(i) + " lookup 77\n";
    commands += "neigh add 10.66." + octets(i) + " lladdr 02:00:00:00:66:01 dev net1\n";
  }
  node.batch(node.pod, commands);
  node.run_well(check);
  node.run_well(node.call("DEL"));
  CHECK(node.world() == node.before);
}

TEST_CASE("Of two similar interfaces DEL takes the right one") {
  Hostile node;
  // Equal in kind and address, and of one pod.
  shell("ip link set vf2 address $(ip -o link show vf1 | grep -o 'ether [^ ]*' | cut -c7-)");
  const std::string now = node.world();
  Call second = node.call("ADD", "pod2");
  second.netns = node.pod;
  second.ifname = "net2";
  node.run_well(node.call("ADD"));
  node.run_well(second);
  SECTION("the first has ended") {
    node.in_pod(node.pod, "ip link del net1");
    node.run_well(node.call("DEL"));
    CHECK_FALSE(node.link_in_pod(node.pod, "net2").is_null());
  }
  SECTION("the first has ended, and the second has its name") {
    node.in_pod(node.pod, "ip link del net1; ip link set net2 down; ip link set net2 name net1");
    node.run_well(node.call("DEL"));
    CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
  }
  SECTION("they have exchanged their names") {
    node.in_pod(
        node.pod,
        "ip link set net1 down; ip link set net2 down; ip link set net1 name x; ip link set net2 name net1;"
        "ip link set x name net2");
    node.run_well(node.call("DEL"));
    CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
    second.verb = "DEL";
    node.run_well(second);
    CHECK(node.world() == now);
    return;
  }
  second.verb = "DEL";
  node.run_well(second);
  CHECK(node.nothing_of_ours());
}

TEST_CASE("An interface that the pod had before is never taken for the device") {
  Hostile node;
  // It has the index that the device has in the host, so that the device gets another one in the pod.
  const std::string index = shell("ip -o link show vf1");
  const std::string device = shell("ip -br link show vf1");
  node.in_pod(node.pod,
              "ip link add eth0 index " + index.substr(0, index.find(':')) + " type veth peer name eth0p");
  node.run_well(node.call("ADD"));
  SECTION("unchanged") {}
  SECTION("renamed by the pod") {
    node.in_pod(node.pod, "ip link set net1 down; ip link set net1 name other; ip link set eth0 name net1");
  }
  node.run_well(node.call("DEL"));
  CHECK_THAT(node.in_pod(node.pod, "ip -br link show type veth"), Contains("eth0p"));
  // Its index in the host is another one now, and with it its place in the list.
  CHECK(shell("ip -br link show vf1") == device);
  CHECK(node.nothing_of_ours());
}

TEST_CASE("An ADD that fails before the move does not take an interface of the pod for its device") {
  Hostile node;
  shell("ip link add mv0 link vf1 type macvlan mode bridge");
  const std::string index = shell("ip -o link show mv0");
  shell("ip link add link vf1 netns " + node.pod + " index " + index.substr(0, index.find(':')) +
        " name eth0 type macvlan mode bridge");
  const std::string now = node.world();
  const std::string pod = node.in_pod(node.pod, "ip -br link show eth0");
  Call add = node.call("ADD");
  add.config = *Json::parse(
      R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","device":"mv0","rings":{"rx":7}})");
  const Outcome outcome = node.run(add);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status != 0);
  CHECK_THAT(message_of(outcome), Contains("rings") && !Contains("rollback"));
  CHECK(node.in_pod(node.pod, "ip -br link show eth0") == pod);
  CHECK(node.world() == now);
}

TEST_CASE("A reason to be kept down that a pod has set is gone after DEL") {
  Hostile node;
  shell("ip link add mv0 link vf1 type macvlan mode bridge");
  Call call = node.call("ADD");
  call.config = *Json::parse(R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","device":"mv0"})");
  node.run_well(call);
  node.in_pod(node.pod, "ip link set net1 protodown on; ip link set net1 protodown_reason 3 on");
  call.verb = "DEL";
  const Outcome outcome = node.run(call);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(shell("ip -d link show mv0"), !Contains("protodown"));
  CHECK(shell("ls " + node.path("state/unclean") + " 2> /dev/null || true").empty());
}

TEST_CASE("A pod cannot make another pod's ADD or DEL fail") {
  Hostile node;
  node.run_well(node.call("ADD"));
  node.run_well(node.call("ADD", "pod2"));
  // The name that the other's device has in the host is free there now, and every name of the two in this
  // pod.
  node.in_pod(node.pod,
              "ip link property add dev net1 altname vf2 altname vf2-alias; ip link add vf1 type bridge;"
              "ip link add spy link net1 type macvlan mode passthru; ip link set spy netns " +
                  node.accomplice);
  node.run_well(node.call("DEL", "pod2"));
  node.run_well(node.call("ADD", "pod2"));
  node.run_well(node.call("DEL"));
  node.run_well(node.call("DEL", "pod2"));
  CHECK(node.world() == node.before);
}

}  // namespace vfrail::test
