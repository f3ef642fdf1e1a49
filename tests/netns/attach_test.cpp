// ADD, CHECK and DEL by the program itself: what the result says is what the pod has, and DEL puts the node
// back.
#include "tests/netns/one_pod.h"
#include "tests/support/opens.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

// The device has a state of its own to be kept.
struct NamedDevice : OneDevice {
  NamedDevice()
      : OneDevice(
            "ip link set vf1 mtu 1400 txqueuelen 777 alias 'a port' && ip link property add dev vf1 altname "
            "enp3s2f1 && "
            "ip link property add dev vf1 altname a-name-of-more-than-fifteen-bytes") {}
};

bool has_address(const Json& link, const std::string& ip, int prefix) {
  for (const Json& address : *link.find("addr_info")->as_array()) {
    if (*address.find("local") == Json(ip) && *address.find("prefixlen") == Json(prefix)) return true;
  }
  return false;
}

bool is_up(const Json& link) {
  for (const Json& flag : *link.find("flags")->as_array()) {
    if (flag == Json("UP")) return true;
  }
  return false;
}

// The file in the folder whose name begins so; fails the test if there is none.
std::string file_in(const std::string& folder, const std::string& begin) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(begin)) return entry.path();
  }
  FAIL("no " << begin << " in " << folder);
  return "";
}

// A process that has ended has no program, reaped or not.
bool has_ended(pid_t process) {
  std::error_code ended;
  (void)std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", ended);
  return static_cast<bool>(ended);
}

Json with_prev_result(Json conf, const Json& result) { return conf.set("prevResult", result); }

}  // namespace

TEST_CASE("In every version the result is what the pod has, and DEL restores the node") {
  const std::string version = GENERATE("0.3.0", "0.3.1", "0.4.0", "1.0.0");
  CAPTURE(version);
  NamedDevice node;
  Json conf = node.config(version);
  conf.set("ipam", node.host_local()).set("mtu", 1300).set("mac", "02:00:00:00:0a:01");
  const Json result = node.done(node.call("ADD", conf));

  const Json link = node.link_in_pod(node.pod, "net1");
  REQUIRE_FALSE(link.is_null());
  CHECK(*link.find("address") == Json("02:00:00:00:0a:01"));
  CHECK(*link.find("mtu") == Json(1300));
  CHECK(is_up(link));
  CHECK(has_address(link, "10.7.0.5", 24));
  CHECK_THAT(node.in_pod(node.pod, "ip route"), Contains("default via 10.7.0.1 dev net1"));

  const bool v1 = version == "1.0.0";
  CHECK(*result.find("cniVersion") == Json(version));
  const Json& interface = (*result.find("interfaces")->as_array()).at(0);
  CHECK(*interface.find("name") == Json("net1"));
  CHECK(*interface.find("mac") == Json("02:00:00:00:0a:01"));
  CHECK(*interface.find("sandbox") == Json(node.pod));
  CHECK(interface.find("mtu") == nullptr);  // of 1.1.0
  CHECK(interface.find("pciID") == nullptr);
  const Json& ip = (*result.find("ips")->as_array()).at(0);
  CHECK(*ip.find("address") == Json("10.7.0.5/24"));
  CHECK(*ip.find("gateway") == Json("10.7.0.1"));
  CHECK(*ip.find("interface") == Json(0));
  CHECK((ip.find("version") != nullptr) == !v1);

  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("A MAC address that another interface of the host has is set, and the log says who else has it") {
  NamedDevice node;
  Json conf = node.config();
  conf.set("mac", "02:00:00:00:0a:01");
  const bool taken = GENERATE(false, true);
  CAPTURE(taken);
  if (taken) shell("ip link set vf1p address 02:00:00:00:0a:01");
  const Outcome outcome = node.run(node.call("ADD", conf));
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.status == 0);
  CHECK(*node.link_in_pod(node.pod, "net1").find("address") == Json("02:00:00:00:0a:01"));
  const bool reported = outcome.err.find("others=\"vf1p of the host\" id=VF-MAC-IN-USE") != std::string::npos;
  CHECK(reported == taken);
}

TEST_CASE("Before 0.3.0 the result is addresses, and DEL restores the node without prevResult") {
  const std::string version = GENERATE("0.1.0", "0.2.0", "");
  CAPTURE(version);
  NamedDevice node;
  Json conf = node.config(version);
  if (version.empty()) conf.set("cniVersion", Json());
  conf.set("ipam", node.host_local());
  const Json result = node.done(node.call("ADD", conf));
  CHECK(has_address(node.link_in_pod(node.pod, "net1"), "10.7.0.5", 24));
  CHECK(result ==
        *Json::parse(R"({"cniVersion":")" + (version.empty() ? "0.1.0" : version) +
                     R"(","ip4":{"ip":"10.7.0.5/24","gateway":"10.7.0.1","routes":[{"dst":"0.0.0.0/0"}]},
                               "dns":{}})"));
  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("Before 0.3.0 an attachment without an address is refused before anything has changed") {
  NamedDevice node;
  node.refused(node.call("ADD", node.config("0.2.0")), 7, "\"cniVersion\": \"0.3.1\"");
  CHECK(node.world() == node.before);
}

TEST_CASE("The DNS of the configuration and of the IPAM plugin are merged") {
  NamedDevice node;
  node.add_ipam("script-ipam", R"(test $CNI_COMMAND = ADD || exit 0
    echo '{"ips":[{"address":"10.8.0.2/24"}],"dns":{"nameservers":["10.8.0.53"],"domain":"ipam"}}')");
  Json conf = node.config();
  conf.set("ipam", *Json::parse(R"({"type":"script-ipam"})"));
  conf.set("dns", *Json::parse(R"({"domain":"conf","search":["a"]})"));
  const Json result = node.done(node.call("ADD", conf));
  CHECK(*result.find("dns") ==
        *Json::parse(R"({"nameservers":["10.8.0.53"],"domain":"conf","search":["a"]})"));
}

TEST_CASE("With version 1.1.0 all fields of a route are set and in the result") {
  NamedDevice node;
  node.add_ipam("script-ipam", R"(test $CNI_COMMAND = ADD || exit 0
    echo '{"cniVersion":"1.1.0","ips":[{"address":"10.8.0.2/24"}],"dns":{"nameservers":["10.8.0.53"]},
    "routes":[{"dst":"10.9.0.0/16","gw":"10.8.0.1","mtu":1200,"advmss":1100,"priority":77,"table":100}]}')");
  Json conf = node.config("1.1.0");
  Json ipam;
  conf.set("ipam", ipam.set("type", "script-ipam"));
  const Json result = node.done(node.call("ADD", conf));
  CHECK(*(*result.find("routes")->as_array()).at(0).find("table") == Json(100));
  CHECK((*result.find("interfaces")->as_array()).at(0).find("pciID")->text() == "\"0000:03:02.1\"");
  CHECK(*result.find("dns")->find("nameservers") == *Json::parse(R"(["10.8.0.53"])"));
  CHECK_THAT(node.in_pod(node.pod, "ip route show table 100"),
             Contains("10.9.0.0/16 via 10.8.0.1 dev net1 metric 77 mtu 1200 advmss 1100"));
  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("Without IPAM the pod has the interface, up, and no address") {
  NamedDevice node;
  const Json result = node.done(node.call("ADD", node.config()));
  const Json link = node.link_in_pod(node.pod, "net1");
  CHECK(is_up(link));
  CHECK(*link.find("mtu") == Json(1400));
  CHECK(result.find("ips") == nullptr);
  node.done(node.call("DEL", node.config()));
  CHECK(node.world() == node.before);
}

TEST_CASE("An interface that was down in the host is down after DEL") {
  NamedDevice node;
  shell("ip link set vf1 down");
  const std::string before = node.world();
  node.done(node.call("ADD", node.config()));
  CHECK(is_up(node.link_in_pod(node.pod, "net1")));
  node.done(node.call("DEL", node.config()));
  CHECK(node.world() == before);
}

TEST_CASE("What the pod changed on its interface is restored") {
  NamedDevice node;
  node.done(node.call("ADD", node.config()));
  node.in_pod(node.pod,
              "ip link set net1 mtu 1280 txqueuelen 5 address 02:00:00:00:0b:0b && ip link set net1 down && "
              "ip addr add 10.1.1.1/24 dev net1");
  node.done(node.call("DEL", node.config()));
  CHECK(node.world() == node.before);
}

TEST_CASE("An interface that was renamed inside the pod is restored") {
  NamedDevice node;
  node.done(node.call("ADD", node.config()));
  node.in_pod(node.pod, "ip link set net1 down; ip link set net1 name other");
  node.done(node.call("DEL", node.config()));
  CHECK(node.world() == node.before);
}

TEST_CASE("Another interface of the pod that took the name stays where it is") {
  NamedDevice node;
  node.done(node.call("ADD", node.config()));
  node.in_pod(
      node.pod,
      "ip link set net1 down; ip link set net1 name other; ip link add name net1 type veth peer name q");
  node.done(node.call("DEL", node.config()));
  CHECK(node.world() == node.before);
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
}

TEST_CASE("The pod's own interface may have the name that the device has in the host") {
  NamedDevice node;
  node.in_pod(node.pod, "ip link add name vf1 type veth peer name q");
  node.done(node.call("ADD", node.config()));
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
  node.done(node.call("DEL", node.config()));
  CHECK(node.world() == node.before);
  CHECK_FALSE(node.link_in_pod(node.pod, "vf1").is_null());
}

TEST_CASE("IPv6 addresses work in a pod where IPv6 is off, with their gateway, at once") {
  NamedDevice node;
  node.in_pod(node.pod, "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6");
  node.in_pod(node.pod, "echo 1 > /proc/sys/net/ipv6/conf/lo/disable_ipv6");
  Json conf = node.config();
  conf.set("ipam",
           *Json::parse(R"({"type":"static","addresses":[{"address":"fd07::5/64","gateway":"fd07::1"}],
      "routes":[{"dst":"::/0"}]})"));
  node.done(node.call("ADD", conf));
  const Json link = node.link_in_pod(node.pod, "net1");
  CHECK(has_address(link, "fd07::5", 64));
  CHECK_THAT(node.in_pod(node.pod, "ip -6 addr show dev net1"),
             !Contains("fd07::5/64 scope global tentative"));
  CHECK_THAT(node.in_pod(node.pod, "ip -6 route"), Contains("default via fd07::1 dev net1"));
  CHECK(node.in_pod(node.pod, "cat /proc/sys/net/ipv6/conf/lo/disable_ipv6") == "0\n");
  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("A dual-stack network whose one gateway came with both addresses is attached") {
  NamedDevice node;
  node.add_ipam("dual", R"(test $CNI_COMMAND = ADD && echo '{"cniVersion":"1.0.0","ips":[
      {"address":"10.7.0.5/24","gateway":"10.7.0.1"},{"address":"fd07::5/64","gateway":"10.7.0.1"}],
      "routes":[{"dst":"0.0.0.0/0"},{"dst":"fd08::/64"}]}'; exit 0)");
  Json conf = node.config();
  conf.set("ipam", *Json::parse(R"({"type":"dual"})"));
  node.done(node.call("ADD", conf));
  CHECK_THAT(node.in_pod(node.pod, "ip route"), Contains("default via 10.7.0.1 dev net1"));
  CHECK_THAT(node.in_pod(node.pod, "ip -6 route"), Contains("fd08::/64 dev net1"));
  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("The MAC of CNI_ARGS and of runtimeConfig is set") {
  NamedDevice node;
  Json conf = node.config();
  Call call = node.call("ADD", conf);
  call.args = "IgnoreUnknown=1;MAC=02:00:00:00:0c:01";
  node.done(call);
  CHECK(*node.link_in_pod(node.pod, "net1").find("address") == Json("02:00:00:00:0c:01"));
  node.done(node.call("DEL", conf));  // Multus sends MAC with ADD only
  CHECK(node.world() == node.before);
  conf.set("runtimeConfig", *Json::parse(R"({"mac":"02:00:00:00:0c:02"})"));
  node.done(node.call("ADD", conf));
  CHECK(*node.link_in_pod(node.pod, "net1").find("address") == Json("02:00:00:00:0c:02"));
  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("A chained ADD keeps the result of the plugin before it") {
  NamedDevice node;
  Json conf = node.config();
  conf.set("ipam", node.host_local());
  const Json previous = *Json::parse(R"({"cniVersion":"1.0.0","interfaces":[{"name":"eth0","sandbox":"/x"}],
      "ips":[{"address":"10.1.0.2/16","interface":0}]})");
  const Json result = node.done(node.call("ADD", with_prev_result(conf, previous)));
  CHECK(result.find("interfaces")->as_array()->size() == 2);
  CHECK(*(*result.find("ips")->as_array()).at(0).find("address") == Json("10.1.0.2/16"));
  CHECK(*(*result.find("ips")->as_array()).at(1).find("interface") == Json(1));
  node.done(node.call("DEL", with_prev_result(conf, result)));
  CHECK(node.world() == node.before);
}

TEST_CASE("Each other way to select the device finds it") {
  const char* keys =
      GENERATE(R"({"pciBusID":"0000:03:02.1"})", R"({"runtimeConfig":{"deviceID":"0000:03:02.1"}})",
               R"({"device":"vf1"})", R"({"hwaddr":"02:00:00:00:00:77"})");
  CAPTURE(keys);
  NamedDevice node;
  shell("ip link set vf1 address 02:00:00:00:00:77");
  const std::string before = node.world();
  Json conf = *Json::parse(keys);
  conf.set("cniVersion", "1.0.0").set("name", "rail0").set("type", "vfrail");
  node.done(node.call("ADD", conf));
  CHECK(*node.link_in_pod(node.pod, "net1").find("address") == Json("02:00:00:00:00:77"));
  node.done(node.call("DEL", conf));
  CHECK(node.world() == before);
}

TEST_CASE("A virtio NIC and an auxiliary device are moved and restored as a VF is") {
  const auto [id, tree] = GENERATE(table<std::string, std::string>({
      {"0000:00:05.0",
       "sys/bus/pci/devices/0000:00:05.0/virtio2/net/vf1/dev_port = 0\n"
       "sys/bus/pci/devices/0000:00:05.0/driver -> ../../drivers/virtio-pci\n"},
      {"mlx5_core.sf.4",
       "sys/bus/auxiliary/devices/mlx5_core.sf.4/net/vf1/dev_port = 0\n"
       "sys/bus/auxiliary/devices/mlx5_core.sf.4/driver -> ../../drivers/mlx5_core.sf\n"},
  }));
  CAPTURE(id);
  const NamedDevice node;
  write_tree(node.path("root"), tree);
  node.add_ipam("script-ipam", R"(test $CNI_COMMAND = ADD || exit 0
    echo '{"cniVersion":"1.1.0","ips":[{"address":"10.7.0.5/24"}]}')");
  Json conf = node.config("1.1.0");
  conf.set("deviceID", id).set("pciBusID", id).set("ipam", *Json::parse(R"({"type":"script-ipam"})"));
  const Json result = node.done(node.call("ADD", conf));
  CHECK(has_address(node.link_in_pod(node.pod, "net1"), "10.7.0.5", 24));
  const Json* pci_id = result.find("interfaces")->as_array()->at(0).find("pciID");
  CHECK((pci_id != nullptr) == id.starts_with("0000"));
  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("CHECK accepts an unchanged pod, and names each difference") {
  NamedDevice node;
  Json conf = node.config();
  conf.set("ipam", node.host_local()).set("mtu", 1300).set("mac", "02:00:00:00:0a:01");
  const Json result = node.done(node.call("ADD", conf));
  const Call check = node.call("CHECK", with_prev_result(conf, result));
  node.done(check);

  struct Damage {
    const char* command;
    const char* repair;
    const char* words;
  };
  for (const Damage& damage : std::vector<Damage>{
           {"ip route del default", "ip route add default via 10.7.0.1", "route 0.0.0.0/0 is missing"},
           {"ip link set net1 mtu 1250", "ip link set net1 mtu 1300", "MTU 1250, expected 1300"},
           {"ip link set net1 address 02:00:00:00:0a:02", "ip link set net1 address 02:00:00:00:0a:01",
            "expected 02:00:00:00:0a:01"},
           {"ip link set net1 name other", "ip link set other name net1",
            "called other in the pod, not net1"},
           {"ip addr del 10.7.0.5/24 dev net1",
            "ip addr add 10.7.0.5/24 dev net1; ip route add default via 10.7.0.1", "10.7.0.5/24 is missing"},
           {"ip link set net1 down", "ip link set net1 up; ip route add default via 10.7.0.1",
            "net1 is down"},
           {"ip route del 10.7.0.0/24", "ip route add 10.7.0.0/24 dev net1",
            "the route to 10.7.0.0/24 that 10.7.0.5/24 of net1 comes with is missing"},
           {"ip route change default via 10.7.0.9 dev net1", "ip route change default via 10.7.0.1 dev net1",
            "route 0.0.0.0/0 is missing"},
       }) {
    CAPTURE(damage.command);
    node.in_pod(node.pod, damage.command);
    node.refused(check, 103, damage.words);
    node.in_pod(node.pod, damage.repair);
    node.done(check);
  }

  std::filesystem::remove(node.path("ipam/rail0/10.7.0.5"));
  CHECK(node.run(check).status != 0);  // host-local's own CHECK
  node.done(node.call("DEL", conf));
  node.refused(check, 100, "no record");
}

TEST_CASE("CHECK compares the address in the pod with prevResult, which a later plugin may have changed") {
  NamedDevice node;
  const Json conf = node.config();
  Json result = node.done(node.call("ADD", conf));
  node.in_pod(node.pod, "ip link set net1 address 02:00:00:00:0a:02");
  node.refused(node.call("CHECK", with_prev_result(conf, result)), 103,
               "net1 has the address 02:00:00:00:0a:02, expected ");
  Json interface = (*result.find("interfaces")->as_array())[0];
  result.set("interfaces", Json(Json::Array{interface.set("mac", "02:00:00:00:0A:02")}));
  node.done(node.call("CHECK", with_prev_result(conf, result)));
  result.set("interfaces", Json::array());
  node.refused(node.call("CHECK", with_prev_result(conf, result)), 103, "prevResult has no interface net1");
}

TEST_CASE("A CHECK that whereabouts does not implement is not a failure, any other error is") {
  NamedDevice node;
  const auto ipam = [&](const std::string& name, const std::string& words) {
    node.add_ipam(name,
                  "test $CNI_COMMAND = ADD && echo '{\"ips\":[{\"address\":\"10.8.0.2/24\"}]}'\n"
                  "test $CNI_COMMAND = CHECK || exit 0\n"
                  "echo '{\"code\":999,\"msg\":\"" +
                      words + "\"}'; exit 1");
    Json section;
    return section.set("type", name);
  };
  Json conf = node.config();
  conf.set("ipam", ipam("whereabouts", "CNI CHECK method is not implemented"));
  const Json result = node.done(node.call("ADD", conf));
  const Call check = node.call("CHECK", with_prev_result(conf, result));
  const Outcome outcome = node.run(check);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Contains("cannot check its address") && Contains("not implemented"));
  ipam("whereabouts", "IPAM configuration load failed");
  node.refused(check, 999, "IPAM configuration load failed");
  conf.set("ipam", ipam("other-ipam", "CNI CHECK method is not implemented"));
  node.refused(node.call("CHECK", with_prev_result(conf, result)), 999, "not implemented");
}

TEST_CASE("CHECK without prevResult or with an older version is refused") {
  NamedDevice node;
  node.refused(node.call("CHECK", node.config()), 7, "prevResult");
  node.refused(node.call("CHECK", node.config("0.3.1")), 1, "0.4.0");
}

TEST_CASE("DEL waits for the IPAM plugin of a killed ADD, so that no address is assigned after it") {
  NamedDevice node;
  node.add_ipam("slow-ipam", "cd " + node.path("ipam") + R"(; case $CNI_COMMAND in
    ADD) echo $$ > process; : > begun; while [ -e begun ] && [ ! -e end ]; do sleep 0.01; done
      : > lease; echo '{"cniVersion":"1.0.0","ips":[{"address":"10.8.0.2/24"}]}' ;;
    DEL) if [ -e /proc/$(cat process)/exe ]; then echo early; else echo after; fi > turn; rm -f lease ;;
    esac)");
  Json conf = node.config();
  Json ipam;
  conf.set("ipam", ipam.set("type", "slow-ipam"));
  Program add = node.start(node.call("ADD", conf));
  while (!std::filesystem::exists(node.path("ipam/begun")))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(add.pid(), SIGKILL);
  CHECK(add.wait().status == 128 + SIGKILL);
  // Who waits for a lock tries again and again.
  constexpr int kMany = 10;
  const Opens tries(file_in(node.path(""), "ipam:"));
  Program del = node.start(node.call("DEL", conf));
  int seen = 0;
  while (seen < kMany && !has_ended(del.pid())) seen += tries.next(std::chrono::milliseconds(10)) ? 1 : 0;
  CHECK(seen == kMany);
  write_text(node.path("ipam/end"), "");
  const Outcome outcome = del.wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(read_text(node.path("ipam/turn")) == "after\n");
  CHECK_FALSE(std::filesystem::exists(node.path("ipam/lease")));
  CHECK(node.world() == node.before);
}

TEST_CASE("16 concurrent attachments succeed, each with its device and its address") {
  constexpr size_t kPods = 16;
  Node node;
  std::vector<Call> calls;
  for (size_t i = 0; i < kPods; ++i) {
    const std::string number = std::to_string(i);
    const std::string address = "0000:04:" + std::string(i < 8 ? "00." : "01.") + std::to_string(i % 8);
    node.add_device(address, "vf" + number);
    Call call;
    call.container = "pod" + number;
    call.netns = node.add_pod(number);
    call.config = node.config();
    call.config.set("deviceID", address).set("ipam", node.host_local());
    calls.push_back(std::move(call));
  }
  const std::string before = node.world();
  const auto run_all = [&](const std::string& verb) {
    std::vector<Program> programs;
    for (Call& call : calls) {
      call.verb = verb;
      programs.push_back(node.start(call));
    }
    for (Program& program : programs) {
      const Outcome outcome = program.wait();
      INFO(outcome.out << outcome.err);
      CHECK(outcome.status == 0);
    }
  };
  run_all("ADD");
  CHECK(node.leases().size() == kPods);
  for (const Call& call : calls) CHECK(is_up(node.link_in_pod(call.netns, "net1")));
  run_all("DEL");
  CHECK(node.world() == before);
}

}  // namespace vfrail::test
