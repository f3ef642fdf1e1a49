// vfrail-cni as an entry of the node's primary network list, which attaches the devices of the pod's claims:
// the program itself, in real namespaces, with a first interface that another plugin has made.
#include "common/container/claim_record.h"
#include "tests/netns/one_pod.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

struct ClaimsNode : OnePod {
  ClaimsNode() {
    std::filesystem::create_directories(path("run"));
    for (const char* number : {"1", "2"}) {
      const std::string address = std::string("0000:0") + number + ":00.1";
      add_device(address, std::string("vf") + number);
      prepare("uid-0", address, std::string("rdma/rail") + number);
    }
    prepare("uid-1", "0000:09:00.1", "rdma/rail1");
    // Its index is none that a device has in the host: that device would get another one, and list later.
    in_pod(pod,
           "ip link add eth0 index 1000 type veth peer name eth0p && ip addr add 10.1.0.2/16 dev eth0 && ip "
           "link set eth0 up");
    before = world();
  }
  void prepare(const std::string& of_pod, const std::string& address, const std::string& resource) const {
    std::string device = address;
    std::replace_if(
        device.begin(), device.end(), [](char c) { return c == ':' || c == '.'; }, '-');
    const ClaimRecord record{.claim = {"team", "train-0-" + device, "claim-" + of_pod + "-" + device},
                             .pod = {"train-0", of_pod},
                             .node_pool = "node-1",
                             .requests = {{"nic", {{device, resource, address}}}}};
    if (!write_claim(path("run"), record)) throw std::runtime_error("cannot write the claim");
  }
  Json primary() const {
    return *Json::parse(R"({"cniVersion":"1.0.0","interfaces":[{"name":"eth0","sandbox":")" + pod +
                        R"("}],"ips":[{"interface":0,"address":"10.1.0.2/16"}]})");
  }
  Json entry(const Json& previous) const {
    const auto of_rail = [&](const std::string& number) {
      return *Json::parse(R"({"ipam":{"type":"host-local","dataDir":")" + path("ipam") +
                          R"(","subnet":"10.2)" + number + R"(.0.0/24","gateway":"10.2)" + number +
                          R"(.0.1"}})");
    };
    Json resources = Json::object();
    resources.set("rdma/rail1", of_rail("1")).set("rdma/rail2", of_rail("2"));
    Json out = *Json::parse(R"({"cniVersion":"1.0.0","name":"pods","type":"vfrail"})");
    out.set("claims", Json::object().set("resources", std::move(resources)));
    return out.set("prevResult", previous);
  }
  Call chained(const std::string& verb, const Json& previous, const std::string& uid = "uid-0") const {
    Call out = call(verb, entry(previous));
    out.ifname = "eth0";
    out.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0;K8S_POD_UID=" + uid;
    return out;
  }
};

}  // namespace

TEST_CASE("The devices of a pod's claims are attached behind its first interface, checked, and restored") {
  ClaimsNode node;
  const Json result = node.done(node.chained("ADD", node.primary()));
  REQUIRE(result.find("interfaces")->as_array()->size() == 3);
  CHECK(*(*result.find("interfaces")->as_array())[1].find("name") == Json("net1"));
  CHECK(*(*result.find("ips")->as_array())[0].find("address") == Json("10.1.0.2/16"));
  CHECK_THAT(node.in_pod(node.pod, "ip -4 -o addr show dev net1"), Contains(" 10.21.0."));
  CHECK_THAT(node.in_pod(node.pod, "ip -4 -o addr show dev net2"), Contains(" 10.22.0."));
  CHECK_THAT(node.in_pod(node.pod, "ip -4 -o addr show dev eth0"), Contains(" 10.1.0.2/16"));
  node.done(node.chained("CHECK", result));
  node.in_pod(node.pod, "ip link set net2 down");
  const Outcome checked = node.run(node.chained("CHECK", result));
  CHECK(checked.status != 0);
  CHECK_THAT(message_of(checked), Contains("net2 is down"));
  // By an attachment of the pod that Multus asks for as well.
  Call twice = node.call("ADD");
  twice.config.set("deviceID", "0000:01:00.1");
  twice.ifname = "net9";
  node.refused(twice, 101, "annotation");
  node.done(node.chained("DEL", result));
  CHECK(node.world() == node.before);
  node.done(node.chained("DEL", result));
}

TEST_CASE("A pod without claims passes the entry unchanged") {
  ClaimsNode node;
  CHECK(node.done(node.chained("ADD", node.primary(), "uid-2")) == node.primary());
  CHECK(node.world() == node.before);
  node.done(node.chained("CHECK", node.primary(), "uid-2"));
  node.done(node.chained("DEL", node.primary(), "uid-2"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A pod of whose claims one device is not there gets none of them") {
  ClaimsNode node;
  node.prepare("uid-0", "0000:07:00.1", "rdma/rail2");
  node.refused(node.chained("ADD", node.primary()), 100,
               "net3 (0000:07:00.1 of claim team/train-0-0000-07-00-1)");
}

TEST_CASE("An ADD of a pod's claims that is killed at any moment is undone by DEL") {
  ClaimsNode node;
  std::mt19937 random(11);
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    Program adding = node.start(node.chained("ADD", node.primary()));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 120'000));
    ::kill(adding.pid(), SIGKILL);
    (void)adding.wait();
    node.done(node.chained("DEL", node.primary()));
    (void)node.command_line({"sweep"}).wait();  // files of locks whose holder was killed
    REQUIRE(node.world() == node.before);
  }
}

TEST_CASE("A sweep restores the devices of a pod's claims when its namespace has ended without a DEL") {
  ClaimsNode node;
  node.done(node.chained("ADD", node.primary()));
  node.end_pod(node.pod);
  const Outcome swept = node.command_line({"sweep"}).wait();
  INFO(swept.out << swept.err);
  CHECK(swept.status == 0);
  CHECK_THAT(swept.out, Contains("2 released"));
  CHECK(node.leases().empty());
}

}  // namespace vfrail::test
