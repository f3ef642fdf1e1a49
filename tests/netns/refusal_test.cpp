// What ADD refuses or cannot finish leaves the node as it was; what DEL finds gone does not stop it.
#include "tests/netns/one_pod.h"
#include "tests/support/deadline.h"
#include "tests/support/places.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

struct Attached : OneDevice {
  Attached() { network.set("ipam", host_local()); }
  void add() const {
    done(call("ADD"));
    REQUIRE(leases().size() == 1);
  }
  void del(const Call& call) const {
    done(call);
    CHECK(leases().empty());
  }
};

void wait_for_file(const std::string& path) {
  const auto deadline = std::chrono::steady_clock::now() + test::kDeadline;
  while (read_text(path).empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  REQUIRE_FALSE(read_text(path).empty());
}

std::string state_files(const Node& node) {
  return shell("find " + node.path("state") + " ! -type d ! -name uppers.kernel");
}

}  // namespace

TEST_CASE("DEL a second time, and DEL of what was never added, succeed") {
  Attached node;
  node.del(node.call("DEL"));
  CHECK(node.world() == node.before);
  node.add();
  node.del(node.call("DEL"));
  node.del(node.call("DEL"));
  CHECK(node.world() == node.before);
}

TEST_CASE("DEL without CNI_NETNS restores the device and releases the address") {
  Attached node;
  node.add();
  Call call = node.call("DEL");
  call.netns = "";
  node.del(call);
  CHECK(node.world() == node.before);
}

TEST_CASE("DEL with a path where no namespace ever was restores the device and releases the address") {
  Attached node;
  node.add();
  Call call = node.call("DEL");
  call.netns = "/nonexistent/netns";
  node.del(call);
  CHECK(node.world() == node.before);
}

TEST_CASE("DEL after the namespace has ended releases the address and removes the record") {
  Attached node;
  node.add();
  node.end_pod(node.pod);
  Call call = node.call("DEL");
  SECTION("with its path") {}
  SECTION("with an ordinary file where it was, as after a reboot") { write_text(node.pod, ""); }
  SECTION("without a path") { call.netns = ""; }
  node.del(call);
  CHECK(state_files(node).empty());
}

TEST_CASE("DEL without a record releases the address") {
  Attached node;
  node.add();
  std::filesystem::remove_all(node.path("state"));
  node.del(node.call("DEL"));
}

TEST_CASE("DEL with an unreadable record releases the address and keeps the file for the administrator") {
  Attached node;
  node.add();
  write_text(node.path("state/attachments/pod1:net1.json"), "{ torn");
  CHECK(node.run(node.call("DEL")).status == 0);
  CHECK(node.leases().empty());
  CHECK_THAT(state_files(node), Contains("pod1:net1.corrupt"));
}

TEST_CASE("GC quarantines a record that a power cut has emptied, and reports it once") {
  Attached node;
  node.add();
  write_text(node.path("state/attachments/pod1:net1.json"), "");
  Call call = node.call("GC");
  call.config.set("cniVersion", "1.1.0").set("cni.dev/valid-attachments", Json::array());
  CHECK_THAT(message_of(node.run(call)), Contains("cannot be read"));
  CHECK_THAT(state_files(node), Contains("pod1:net1.corrupt"));
  CHECK_THAT(message_of(node.run(call)), !Contains("cannot be read"));
}

TEST_CASE("DEL leaves an interface of another namespace that has the path by now alone") {
  Attached node;
  node.add();
  node.end_pod(node.pod);
  node.add_pod("a");
  node.in_pod(node.pod, "ip link add name net1 type veth peer name q");
  node.del(node.call("DEL"));
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
}

TEST_CASE("A name that the pod uses already is refused") {
  Attached node;
  node.in_pod(node.pod, "ip link add name net1 type veth peer name q");
  node.refused(node.call("ADD"), 101, "net1");
}

TEST_CASE("A name that is an alternative name of a pod's interface is refused") {
  Attached node;
  node.in_pod(node.pod, "ip link add name x type veth peer name q; ip link property add dev x altname net1");
  node.refused(node.call("ADD"), 101, "net1");
}

TEST_CASE("A device that another attachment has is busy, and stays attached") {
  Attached node;
  node.add();
  Call second = node.call("ADD");
  second.container = "pod2";
  second.netns = node.add_pod("b");
  node.refused(second, 11, "pod1");
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
  second.verb = "DEL";
  CHECK(node.run(second).status == 0);
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
  node.del(node.call("DEL"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A late DEL does not touch a device that another attachment has by now") {
  Attached node;
  node.add();
  node.end_pod(node.pod);
  // The kernel ends the namespace, and the veth with it, in its own time.
  shell("while ip link show vf1p >/dev/null 2>&1; do sleep 0.01; done");
  shell("ip link add name vf1 type veth peer name vf1p");  // returns, as hardware does by itself
  Call second = node.call("ADD");
  second.container = "pod2";
  second.netns = node.add_pod("b");
  const Outcome added = node.run(second);
  INFO(added.out << added.err);
  REQUIRE(added.status == 0);
  CHECK(node.run(node.call("DEL")).status == 0);
  CHECK_FALSE(node.link_in_pod(second.netns, "net1").is_null());
  CHECK(node.leases() == std::vector<std::string>{"10.7.0.6"});
}

TEST_CASE("The host's own namespace is refused as a pod's") {
  Attached node;
  Call call = node.call("ADD");
  call.netns = "/proc/self/ns/net";
  node.refused(call, 0, "is the host's own");
}

TEST_CASE("A path that is not a network namespace is refused") {
  Attached node;
  Call call = node.call("ADD");
  call.netns = "/nonexistent/netns";
  node.refused(call, 0, "/nonexistent/netns is not a network namespace");
  call.netns = "/proc/self/ns/uts";
  node.refused(call, 0, "not a network namespace");
}

TEST_CASE("A device that the node does not have is refused") {
  Attached node;
  node.network.set("deviceID", "0000:7f:00.0");
  node.refused(node.call("ADD"), 100, "0000:7f:00.0");
}

TEST_CASE("An IPAM plugin that fails or prints invalid output leaves the node unchanged") {
  struct Ipam {
    const char* script;
    int code;
    const char* words;
  };
  const auto ipam = GENERATE(
      Ipam{R"(test $CNI_COMMAND = DEL && exit 0; echo '{"code":11,"msg":"range is full"}'; exit 1)", 11,
           "range is full"},
      Ipam{"test $CNI_COMMAND = DEL && exit 0; exit 3", 999, "exit status 3"},
      Ipam{"test $CNI_COMMAND = DEL && exit 0; echo junk", 6, "not JSON"},
      Ipam{"test $CNI_COMMAND = DEL && exit 0; kill -9 $$", 999, "signal 9"}, Ipam{"exit 0", 6, "empty"},
      Ipam{R"(test $CNI_COMMAND = DEL && exit 0; echo '{"ips":[]}')", 6, "no address"},
      Ipam{R"(test $CNI_COMMAND = DEL && exit 0; echo '{"ips":[{"address":"x"}]}')", 6, "ips[0].address"},
      Ipam{"test $CNI_COMMAND = DEL && exit 0; head -c 2097152 /dev/zero", 6, "1 MiB"},
      Ipam{R"(test $CNI_COMMAND = DEL && exit 0;
        echo '{"ips":[{"address":"10.0.0.5/24"}],"routes":[{"dst":"10.9.0.0/16","gw":"192.168.77.1"}]}')",
           0, "add route 10.9.0.0/16"});
  CAPTURE(ipam.script);
  Attached node;
  node.add_ipam("script-ipam", ipam.script);
  node.network.set("ipam", *Json::parse(R"({"type":"script-ipam"})"));
  node.refused(node.call("ADD"), ipam.code, ipam.words);
  CHECK(node.link_in_pod(node.pod, "net1").is_null());
}

TEST_CASE("An address that is assigned and cannot be used is released") {
  Attached node;
  node.add_ipam("script-ipam",
                "echo $CNI_COMMAND >> $(dirname $0)/verbs; test $CNI_COMMAND = DEL && exit 0; "
                R"(echo '{"ips":[{"address":"10.0.0.5/24"},{"address":"10.0.0.5/24"}]}')");
  node.network.set("ipam", *Json::parse(R"({"type":"script-ipam"})"));
  node.refused(node.call("ADD"), 101, "add address 10.0.0.5/24");
  CHECK(read_text(node.path("bin/verbs")) == "ADD\nDEL\n");
}

TEST_CASE(
    "An address is released after the interface has left the pod, dhcp's before, in DEL and roll-back") {
  const std::string type = GENERATE("script-ipam", "dhcp");
  const bool rolls_back = GENERATE(true, false);
  CAPTURE(type, rolls_back);
  Attached node;
  const std::string second_address = rolls_back ? R"(,{"address":"10.0.0.5/24"})" : "";
  node.add_ipam(type,
                "nsenter --net=$CNI_NETNS ip link show net1 > /dev/null 2>&1 && with=with || with=without\n"
                "echo $CNI_COMMAND $with net1 >> $(dirname $0)/seen; test $CNI_COMMAND = DEL && exit 0\n"
                R"(echo '{"ips":[{"address":"10.0.0.5/24"})" +
                    second_address + "]}'");
  node.network.set("ipam", Json::object().set("type", type));
  if (rolls_back) {
    node.refused(node.call("ADD"), 101, "add address 10.0.0.5/24");
  } else {
    REQUIRE(node.run(node.call("ADD")).status == 0);
    node.del(node.call("DEL"));
  }
  const std::string expected = type == "dhcp" ? "DEL with net1" : "DEL without net1";
  CHECK(read_text(node.path("bin/seen")) == "ADD with net1\n" + expected + "\n");
  CHECK(node.world() == node.before);
}

TEST_CASE("DEL of an ADD that was refused for its CNI_ARGS or its version succeeds") {
  Attached node;
  Call call = node.call("ADD");
  SECTION("CNI_ARGS") { call.args = "IgnoreUnknown=1;nonsense"; }
  SECTION("version") { call.config.set("cniVersion", "9.9.9"); }
  SECTION("a setting") { call.config.set("vlan", 5000); }
  node.refused(call, 0, "");
  call.verb = "DEL";
  node.del(call);
  CHECK(node.world() == node.before);
}

TEST_CASE("ipam.type that leads back to vfrail is refused at once, and its DEL succeeds") {
  Attached node;
  const std::string type = GENERATE("copy", "link", "delegates-back");
  CAPTURE(type);
  const std::string itself = node.path("bin/" + type);
  if (type == "copy") shell("cp " + test::program_path("vfrail-cni") + " " + itself);
  if (type == "link") shell("ln -s " + test::program_path("vfrail-cni") + " " + itself);
  if (type == "delegates-back") node.add_ipam(type, "exec " + test::program_path("vfrail-cni"));
  node.network.set("ipam", Json::object().set("type", type)).set("cniVersion", "1.1.0");
  node.refused(node.call("ADD"), 7, type == "link" ? "is vfrail itself" : "leads back to vfrail");
  CHECK(node.run(node.call("STATUS")).status != 0);
  node.del(node.call("DEL"));
  CHECK(node.world() == node.before);
}

TEST_CASE("An unusable log file, or one outside the log folder, is no reason to fail") {
  Attached node;
  shell("mkfifo " + node.path("fifo"));
  const std::string name = GENERATE("fifo", "/dev/full", "/etc/vfrail-log", "/tmp/../etc/vfrail-log");
  const std::string file = name.starts_with('/') ? name : node.path(name);
  CAPTURE(file);
  node.network.set("logFile", file);
  const Outcome added = node.run(node.call("ADD"));
  CHECK(added.status == 0);
  CHECK_THAT(added.err, Contains("stderr is used instead") && Contains("attached"));
  node.del(node.call("DEL"));
  CHECK_FALSE(std::filesystem::exists("/etc/vfrail-log"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A missing IPAM plugin leaves the node unchanged") {
  Attached node;
  node.network.set("ipam", *Json::parse(R"({"type":"no-such-ipam"})"));
  node.refused(node.call("ADD"), 100, "no-such-ipam");
}

TEST_CASE("An ADD that is killed while its IPAM plugin hangs is undone by DEL") {
  Attached node;
  node.add_ipam("script-ipam",
                "test $CNI_COMMAND = DEL && exit 0; echo $$ > $(dirname $0)/pid; exec sleep 1000");
  node.network.set("ipam", *Json::parse(R"({"type":"script-ipam"})"));
  {
    const Program add = node.start(node.call("ADD"));
    wait_for_file(node.path("bin/pid"));
    CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
  }
  ::kill(std::stoi(read_text(node.path("bin/pid"))), SIGKILL);
  node.del(node.call("DEL"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A slow IPAM plugin of one pod does not delay another pod") {
  Attached node;
  node.add_device("0000:03:02.2", "vf2");
  node.add_ipam("script-ipam", "echo $$ > $(dirname $0)/pid; exec sleep 1000");
  Call slow = node.call("ADD");
  slow.config.set("ipam", *Json::parse(R"({"type":"script-ipam"})"));
  const Program hanging = node.start(slow);
  wait_for_file(node.path("bin/pid"));
  Call other = node.call("ADD");
  other.container = "pod2";
  other.netns = node.add_pod("b");
  other.config.set("deviceID", "0000:03:02.2");
  CHECK(node.run(other).status == 0);
  ::kill(std::stoi(read_text(node.path("bin/pid"))), SIGKILL);
}

TEST_CASE("Hostile names are refused before any change, and their DEL leaves nothing") {
  struct Hostile {
    const char* where;
    std::string value;
  };
  const std::string very_long(100'000, 'a');
  const auto hostile = GENERATE_COPY(
      Hostile{"container", "../../../tmp/x"}, Hostile{"container", "a\nb"}, Hostile{"container", very_long},
      Hostile{"ifname", "../x"}, Hostile{"ifname", "a\tb"}, Hostile{"ifname", "all"},
      Hostile{"ifname", very_long}, Hostile{"netns", "/" + very_long}, Hostile{"netns", "/run/\xff"},
      Hostile{"netns", "/proc/self/ns/../.."}, Hostile{"args", "MAC=" + very_long},
      Hostile{"args", "MAC=02:00:00:00:00:01\n"}, Hostile{"name", "../../x"},
      Hostile{"name", std::string("a\0b", 3)}, Hostile{"name", very_long},
      Hostile{"deviceID", "../../0000:03:02.1"}, Hostile{"deviceID", std::string("0000:03:02.1\0", 13)},
      Hostile{"deviceID", very_long}, Hostile{"device", "../vf1"},
      Hostile{"kernelpath", "/sys/devices/../../etc"}, Hostile{"logFile", std::string("/tmp/x\0", 7)});
  CAPTURE(hostile.where, hostile.value.substr(0, 60));
  Attached node;
  Call call = node.call("ADD");
  const std::string where = hostile.where;
  if (where == "container") {
    call.container = hostile.value;
  } else if (where == "ifname") {
    call.ifname = hostile.value;
  } else if (where == "netns") {
    call.netns = hostile.value;
  } else if (where == "args") {
    call.args = hostile.value;
  } else {
    call.config.set(where, hostile.value);
  }
  node.refused(call, 0, "");
  CHECK(code_of(node.run(call)) > 0);
  CHECK(message_of(node.run(call)).size() < 6000);
  call.verb = "DEL";
  const Outcome del = node.run(call);
  // libcni refuses the other names itself, before ADD.
  const bool comes_from_runtimes = where == "netns" || hostile.value == "all";
  INFO(del.out.substr(0, 600));
  if (comes_from_runtimes) CHECK(del.status == 0);
  CHECK(node.world() == node.before);
}

TEST_CASE("Without network administration privileges nothing changes, and the error has the reason") {
  Attached node;
  Call call = node.call("ADD");
  SECTION("no CAP_NET_ADMIN") {
    call.prefix = {"setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-all"};
    node.refused(call, 102, "EPERM");
  }
  SECTION("no CAP_SYS_ADMIN") {
    call.prefix = {"setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-all"};
    node.refused(call, 102, "EPERM");
  }
  SECTION("root of a user namespace only") {
    call.prefix = {"unshare", "--user", "--map-root-user"};
    node.refused(call, 102, "EPERM");
  }
}

TEST_CASE("A state folder that cannot be written fails ADD before any change") {
  Attached node;
  std::filesystem::remove_all(node.path("state"));
  write_text(node.path("state"), "a file");
  const std::string before = node.world();
  const Outcome outcome = node.run(node.call("ADD"));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status != 0);
  CHECK_THAT(message_of(outcome), Contains(node.path("state")));
  CHECK(node.world() == before);
}

TEST_CASE("Only root can access the state of an attachment") {
  Attached node;
  node.add();
  CHECK(shell("stat -c %a " + node.path("state") + " " + node.path("state/attachments") + " " +
              node.path("state/attachments/pod1:net1.json")) == "700\n700\n600\n");
}

}  // namespace vfrail::test
