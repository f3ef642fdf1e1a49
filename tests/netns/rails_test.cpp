// A unit of several devices by the program itself: one call attaches all rails at once, in real namespaces.
#include "common/container/allocated_unit.h"
#include "tests/netns/one_pod.h"

#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

constexpr size_t kRails = 8;

struct RailsNode : OnePod {
  RailsNode() {
    AllocatedUnit unit{"bundle-0", "rdma/hca", {}};
    for (size_t i = 0; i < kRails; ++i) {
      const std::string address = "0000:0" + std::to_string(i) + ":00.1";
      add_device(address, "vf" + std::to_string(i));
      unit.devices.push_back(*DeviceId::parse(address));
    }
    std::filesystem::create_directories(path("run"));
    if (!write_allocated_unit(path("run"), unit)) throw std::runtime_error("cannot write the unit");
    before = world();
  }
  Json config() const {
    Json ranges = Json::array();
    for (size_t i = 0; i < kRails; ++i)
      ranges.push(*Json::parse(R"({"subnet":"10.)" + std::to_string(i) + R"(.0.0/24","gateway":"10.)" +
                               std::to_string(i) + R"(.0.1"})"));
    Json out = Node::config("1.0.0");
    out.set("deviceID", "bundle-0").set("sourceRouting", true);
    out.set("ipam", *Json::parse(R"({"type":"host-local","dataDir":")" + path("ipam") + R"("})"));
    out.set("rails", Json::object().set("ipam", std::move(ranges)));
    return out;
  }
  static std::string name(size_t rail) { return rail == 0 ? "net1" : "net1r" + std::to_string(rail); }
};

}  // namespace

TEST_CASE(
    "Eight rails are attached by one call, each with an address and routes of its own, and restored by one") {
  RailsNode node;
  const Outcome added = node.run(node.call("ADD", node.config()));
  INFO(added.out << added.err);
  REQUIRE(added.status == 0);
  const Json result = json_of(added);
  REQUIRE(result.find("interfaces")->as_array()->size() == kRails);
  REQUIRE(result.find("ips")->as_array()->size() == kRails);
  CHECK(node.leases().size() == kRails);
  for (size_t i = 0; i < kRails; ++i) {
    const std::string name = RailsNode::name(i);
    CHECK(*(*result.find("interfaces")->as_array())[i].find("name") == Json(name));
    CHECK_THAT(node.in_pod(node.pod, "ip -4 -o addr show dev " + name),
               Contains(" 10." + std::to_string(i) + ".0."));
    CHECK(node.in_pod(node.pod, "cd /proc/sys/net/ipv4/conf/" + name + "; cat arp_ignore arp_announce") ==
          "1\n2\n");
    // An answer leaves by the rail of its address.
    const std::string from = "10." + std::to_string(i) + ".0.2";
    CHECK_THAT(node.in_pod(node.pod, "ip route get 192.0.2.1 from " + from), Contains("dev " + name + " "));
  }
  Json check = node.config();
  const Outcome checked = node.run(node.call("CHECK", check.set("prevResult", result)));
  INFO(checked.out << checked.err);
  CHECK(checked.status == 0);
  const Outcome deleted = node.run(node.call("DEL", node.config()));
  INFO(deleted.out << deleted.err);
  CHECK(deleted.status == 0);
  CHECK(node.world() == node.before);
}

TEST_CASE("Rails that are killed at any moment are restored by DEL, and by a sweep when the pod has ended") {
  RailsNode node;
  std::mt19937 random(7);
  for (int round = 0; round < 25; ++round) {
    CAPTURE(round);
    Program adding = node.start(node.call("ADD", node.config()));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 200'000));
    ::kill(adding.pid(), SIGKILL);
    (void)adding.wait();
    Outcome deleted = node.run(node.call("DEL", node.config()));
    INFO(deleted.out << deleted.err);
    REQUIRE(deleted.status == 0);
    (void)node.command_line({"sweep"}).wait();  // files of locks whose holder was killed
    REQUIRE(node.world() == node.before);
  }
}

TEST_CASE("One rail without a free address leaves no rail attached and no address assigned") {
  RailsNode node;
  Json conf = node.config();
  Json ranges = *conf.find("rails")->find("ipam");
  (*ranges.as_array())[5] =
      *Json::parse(R"({"subnet":"10.5.0.0/30","rangeStart":"10.5.0.2","rangeEnd":"10.5.0.2"})");
  conf.set("rails", Json::object().set("ipam", ranges));
  std::filesystem::create_directories(node.path("ipam/rail0"));
  write_text(node.path("ipam/rail0/10.5.0.2"), "another\r\neth0");
  const std::string before = node.world();
  const Outcome added = node.run(node.call("ADD", conf));
  CHECK(added.status != 0);
  CHECK_THAT(message_of(added), Contains("rail 5 (net1r5, 0000:05:00.1)") && Contains("host-local"));
  CHECK(node.world() == before);
}

TEST_CASE("Of two pods whose units have the same devices in opposite order one gets all of them, each time") {
  RailsNode node;
  AllocatedUnit opposite{"bundle-1", "rdma/hca", {}};
  for (size_t i = kRails; i-- > 0;)
    opposite.devices.push_back(*DeviceId::parse("0000:0" + std::to_string(i) + ":00.1"));
  REQUIRE(write_allocated_unit(node.path("run"), opposite));
  Call first = node.call("ADD", node.config());
  Call second = node.call("ADD", node.config());
  second.config.set("deviceID", "bundle-1");
  second.container = "pod2";
  second.netns = node.add_pod("b");
  const std::string before = node.world();
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    Program one = node.start(first);
    Program two = node.start(second);
    const Outcome of_one = one.wait();
    const Outcome of_two = two.wait();
    INFO(of_one.out << of_two.out);
    CHECK((of_one.status == 0) != (of_two.status == 0));
    for (Call call : {first, second}) {
      call.verb = "DEL";
      CHECK(node.run(call).status == 0);
    }
    REQUIRE(node.world() == before);
  }
}

}  // namespace vfrail::test
