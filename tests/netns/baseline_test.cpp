// What a pod with NET_ADMIN, and one that may write sysfs, changes on its interface beyond what an attachment
// sets: with the kernel's own settings, on a veth. After DEL the device is what it was. And how often the
// host's udev is called when a device comes back.
#include "common/netlink/netlink_kernel.h"
#include "common/node/unclean.h"
#include "common/unique_fd.h"
#include "tests/netns/node.h"
#include "tests/netns/snapshot.h"

#include <filesystem>
#include <poll.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <linux/netlink.h>

namespace vfrail::test {
namespace {

namespace fs = std::filesystem;

// Two queues each way, so that there is packet steering; sysfs of the node's own network namespace.
struct Queues : Node {
  std::string pod;
  Queues() {
    shell("ip link add name vf1 numrxqueues 2 numtxqueues 2 type veth peer name vf1p && ip link set vf1p up");
    shell("ip link set vf1 mtu 1600 && ip link property add dev vf1 altname rail-0");
    write_tree(path("root"),
               "sys/bus/pci/devices/0000:03:02.1/net/vf1/\n"
               "sys/bus/pci/devices/0000:03:02.1/driver -> ../../drivers/igbvf\n");
    fs::create_directories(path("sysfs"));
    shell("mount -t sysfs sysfs " + path("sysfs"));
    fs::create_directories(path("root/sys/class"));
    fs::create_directory_symlink(path("sysfs/class/net"), path("root/sys/class/net"));
    pod = add_pod("a");
  }
  ~Queues() { ::umount2(path("sysfs").c_str(), MNT_DETACH); }
  Outcome verb(const std::string& name) const {
    Call out;
    out.verb = name;
    out.netns = pod;
    out.config = config();
    Outcome outcome = run(out);
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.status == 0);
    return outcome;
  }
  // Every setting that the product knows of, and those that only sysfs shows.
  std::string settings() const {
    auto host = must_read(NetlinkKernel::open_current(), "open own namespace");
    const auto link = must_read(host->find_link("vf1"), "find vf1");
    if (!link) return "vf1 is not in the host";
    std::string out;
    for (const auto& row : LinkOptions::kRows) {
      const auto& value = link->options.*row.value;
      out += std::string(row.name) + " " + (value ? std::to_string(*value) : "-") + "\n";
    }
    for (const std::string& name : link->altnames) out += "altname " + name + "\n";
    const auto family = must_read(host->ethtool_family(), "ethtool").value_or(0);
    for (const EthtoolGroup group : kEthtoolGroups) {
      const auto found = must_read(host->ethtool(family, link->index, group), group_name(group));
      if (found) out += std::string(group_name(group)) + " " + found->difference_to({}) + "\n";
    }
    return out +
           shell("cd " + path("sysfs/class/net/vf1") +
                 " && grep -rH . queues threaded gro_flush_timeout napi_defer_hard_irqs"
                 " --exclude=inflight --exclude=stall_cnt --exclude=tx_timeout --exclude=limit 2>/dev/null"
                 " || true");
  }
  void change_everything() const {
    auto kernel = kernel_at(pod);
    const auto link = must_read(kernel->find_link("net1"), "find net1");
    REQUIRE(link);
    const int index = link->index;
    CHECK(kernel->change_link(index, {.alias = "mine",
                                      .options = {.flags = *link->options.flags ^ 0x1080U,
                                                  .mode = 1,
                                                  .group = 7,
                                                  .gso_max_size = 30'000,
                                                  .gso_max_segs = 100,
                                                  .gro_max_size = 20'000}}));
    CHECK(kernel->add_altname(index, "vf2"));
    const auto family = *must_read(kernel->ethtool_family(), "ethtool");
    const auto features = *must_read(kernel->ethtool(family, index, EthtoolGroup::features), "features");
    auto other = features;
    other.bits[0] ^= 0x4001U;  // GRO, scatter-gather
    CHECK(kernel->change_ethtool(family, index, EthtoolGroup::features, *other.change_from(features)));
    CHECK(kernel->change_ethtool(family, index, EthtoolGroup::channels, {.numbers = {{"rx", 1}, {"tx", 1}}}));
    shell("exec nsenter --net=" + pod +
          " unshare --mount /bin/sh -ec 'mount -t sysfs sysfs /sys; cd /sys/class/net/net1;"
          " echo 1 > queues/rx-0/rps_cpus; echo 64 > queues/rx-0/rps_flow_cnt;"
          " echo 100 > queues/tx-0/tx_maxrate || true;"
          " echo 20000 > gro_flush_timeout; echo 3 > napi_defer_hard_irqs'");
  }
};

// "add vf1", "move vf1", "remove vf1": what the kernel says of interfaces in this namespace from now on.
class Uevents {
 public:
  Uevents() : fd_(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT)) {
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = 1;
    REQUIRE(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  std::vector<std::string> read() const {
    std::vector<std::string> out;
    char buffer[8192];
    for (;;) {
      const ssize_t size = ::recv(fd_.get(), buffer, sizeof buffer - 1, MSG_DONTWAIT);
      if (size <= 0) return out;
      buffer[size] = 0;
      const std::string head = buffer;  // "add@/devices/virtual/net/vf1"
      if (head.find("/net/") == std::string::npos || head.find("/queues/") != std::string::npos) continue;
      out.push_back(head.substr(0, head.find('@')) + " " + head.substr(head.rfind('/') + 1));
    }
  }

 private:
  UniqueFd fd_;
};

}  // namespace

TEST_CASE("What a pod changed on its interface is restored at DEL, and nothing is unclean") {
  Queues node;
  const std::string before = node.settings();
  node.verb("ADD");
  node.change_everything();
  node.verb("DEL");
  CHECK(difference(before, node.settings()).empty());
  CHECK(
      must_read(read_unclean(node.path("state"), "5f1d0a5c-0000-4000-8000-000000000001"), "unclean").empty());
  INFO("and again, by the baseline that is there");
  node.verb("ADD");
  node.change_everything();
  node.verb("DEL");
  CHECK(difference(before, node.settings()).empty());
}

TEST_CASE("The tuning of a network is in effect in the pod, and the device is as before after DEL") {
  const Queues node;
  const std::string before = node.settings();
  Call call;
  call.verb = "ADD";
  call.netns = node.pod;
  call.config = node.config();
  call.config.set("queues", 1).set("rps", "1").set("features", *Json::parse(R"({"rx-gro":true})"));
  const Outcome added = node.run(call);
  INFO(added.out << added.err);
  REQUIRE(added.status == 0);
  auto kernel = kernel_at(node.pod);
  const auto link = must_read(kernel->find_link("net1"), "find net1");
  REQUIRE(link);
  const auto family = must_read(kernel->ethtool_family(), "ethtool").value_or(0);
  const auto channels = must_read(kernel->ethtool(family, link->index, EthtoolGroup::channels), "channels");
  REQUIRE(channels);
  CHECK(channels->numbers.at("rx") == 1);
  CHECK(channels->numbers.at("tx") == 1);
  REQUIRE(node.verb("DEL").status == 0);
  CHECK(node.settings() == before);
}

TEST_CASE("The interrupts of the device are on the CPUs that the network names, and as before after DEL") {
  const Queues node;
  const std::string device = "sys/bus/pci/devices/0000:03:02.1/";
  for (const char* irq : {"40", "41", "42"})
    write_tree(node.path("root"), device + "msi_irqs/" + irq + " = msix\n");
  write_tree(node.path("root"), device +
                                    "numa_node = 0\n"
                                    "proc/irq/40/smp_affinity = ff\n"
                                    "proc/irq/41/smp_affinity = 01\n"
                                    "proc/irq/43/smp_affinity = ff\n"
                                    "sys/devices/system/node/node0/cpumap = 0f\n");
  const auto affinities = [&] {
    std::string out;
    for (const char* irq : {"40", "41", "43"})
      out += read_text(node.path("root/proc/irq/" + std::string(irq) + "/smp_affinity")) + " ";
    std::erase(out, '\n');
    return out;
  };
  const std::string before = affinities();
  Call call;
  call.verb = "ADD";
  call.netns = node.pod;
  call.config = node.config();
  call.config.set("irqs", "numa");
  const Outcome added = node.run(call);
  INFO(added.out << added.err);
  REQUIRE(added.status == 0);
  CHECK(affinities() == "0f 0f ff ");
  REQUIRE(node.verb("DEL").status == 0);
  CHECK(affinities() == before);
  INFO("an interrupt that the device no longer has is not written");
  REQUIRE(node.run(call).status == 0);
  std::filesystem::remove(node.path("root/" + device + "msi_irqs/41"));
  REQUIRE(node.verb("DEL").status == 0);
  CHECK(affinities() == "ff 0f ff ");
}

TEST_CASE("A tuning that the driver cannot have is refused by its key, and nothing stays changed") {
  const Queues node;
  const std::string before = node.settings();
  const auto refusal = [&](const std::string& key, const Json& value) {
    Call call;
    call.verb = "ADD";
    call.netns = node.pod;
    call.config = node.config();
    call.config.set("queues", 1).set(key, value);
    const Outcome refused = node.run(call);
    CHECK(refused.status != 0);
    CHECK(node.settings() == before);
    return refused.out;
  };
  CHECK_THAT(refusal("rings", *Json::parse(R"({"rxMini":64})")), Catch::Contains("rings: "));
  CHECK_THAT(refusal("coalesce", *Json::parse(R"({"rxUsecs":8})")),
             Catch::Contains("coalesce: ") && Catch::Contains("does not support it"));
  CHECK_THAT(refusal("features", *Json::parse(R"({"no-such-feature":true})")), Catch::Contains("features: "));
  CHECK_THAT(refusal("rps", Json("numa")), Catch::Contains("the NUMA node of vf1 is not known"));
  CHECK_THAT(refusal("irqs", Json("1")), Catch::Contains("irqs: 0000:03:02.1 has no interrupts of its own"));
}

TEST_CASE("The host sees a device return under its own name, and no other") {
  Queues node;
  const std::string conf = GENERATE("down", "up");
  shell("ip link set vf1 " + conf);
  node.verb("ADD");
  const Uevents events;
  node.verb("DEL");
  CHECK(events.read() == std::vector<std::string>{"add vf1"});
}

}  // namespace vfrail::test
