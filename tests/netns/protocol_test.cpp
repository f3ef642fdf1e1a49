// The CNI protocol around the attachment: versions, errors, GC, STATUS; and the program as a file.
#include "tests/netns/one_pod.h"
#include "tests/support/places.h"

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

Call plain(const std::string& verb, Json config) {
  Call out;
  out.verb = verb;
  out.netns = "/nonexistent/netns";
  out.config = std::move(config);
  return out;
}

struct ProtocolNode : OneDevice {
  bool attached() const { return !link_in_pod(pod, "net1").is_null(); }
};

}  // namespace

TEST_CASE("VERSION names the newest version and all that are supported") {
  const Node node;
  const Outcome outcome = node.run(plain("VERSION", *Json::parse(R"({"cniVersion":"1.1.0"})")));
  CHECK(outcome.status == 0);
  CHECK(
      json_of(outcome) ==
      *Json::parse(
          R"({"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]})"));
}

TEST_CASE("VERSION and a command that is missing or unknown do not wait for stdin") {
  const std::string command = GENERATE("VERSION", "", "MOVE");
  CAPTURE(command);
  const TempDir dir;
  // A pipe that is open for writing as well never ends.
  const std::string out =
      shell("mkfifo " + dir.path("in") + "; CNI_COMMAND=" + command + " timeout 60 " +
            test::program_path("vfrail-cni") + " 0<>" + dir.path("in") + " || test $? = 1");
  CHECK_THAT(out, Contains(command == "VERSION" ? "supportedVersions" : "CNI_COMMAND"));
}

TEST_CASE("Each wrong input has its code, as JSON on stdout") {
  const Node node;
  Call call = plain("ADD", node.config());
  int code = 0;
  std::string words;
  SECTION("a version that is not supported") {
    call.config.set("cniVersion", "2.0.0");
    code = 1;
    words = "2.0.0";
  }
  SECTION("CHECK without a version, which means 0.1.0") {
    call.verb = "CHECK";
    call.config.set("cniVersion", Json());
    code = 1;
    words = "0.1.0";
  }
  SECTION("a key for something that the kernel cannot do") {
    call.config.set("vlanTrunk", "1-10");
    code = 2;
    words = "vlanTrunk";
  }
  SECTION("a hostile container id") {
    call.container = "../../x";
    code = 4;
    words = "CNI_CONTAINERID";
  }
  SECTION("a hostile interface name") {
    call.ifname = "a/b";
    code = 4;
    words = "CNI_IFNAME";
  }
  SECTION("an unknown verb") {
    call.verb = "MOVE";
    code = 4;
    words = "MOVE";
  }
  SECTION("no namespace") {
    call.netns = "";
    code = 4;
    words = "CNI_NETNS is missing";
  }
  SECTION("no JSON") {
    call.config = Json("{ torn");
    code = 6;
    words = "line 1";
  }
  SECTION("no input") {
    call.config = Json("");
    code = 6;
  }
  SECTION("JSON that is nested too deeply") {
    call.config.set("x", *Json::parse(std::string(64, '[') + std::string(64, ']')));
    code = 7;
    words = "64 levels";
  }
  SECTION("no name") {
    call.config.set("name", Json());
    code = 7;
    words = "name";
  }
  SECTION("a name that is no text") {
    call.config.set("name", 5);
    code = 6;
    words = "name";
  }
  SECTION("a version that is no text") {
    call.config.set("cniVersion", 1.0);
    code = 6;
    words = "cniVersion";
  }
  SECTION("GC before 1.1.0") {
    call.verb = "GC";
    code = 1;
    words = "1.1.0";
  }
  SECTION("STATUS before 1.1.0") {
    call.verb = "STATUS";
    code = 1;
    words = "1.1.0";
  }
  SECTION("more input than 1 MiB") {
    call.config = Json(std::string((1 << 20) + 1, ' '));
    code = 5;
    words = "1048576";
  }
  const Outcome outcome = node.run(call);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 1);
  CHECK(code_of(outcome) == code);
  CHECK_THAT(message_of(outcome), Contains(words));
  CHECK(json_of(outcome).find("cniVersion") != nullptr);
}

TEST_CASE("DEL of a configuration that is too long for any ADD succeeds, with a warning") {
  const Node node;
  const Outcome outcome = node.run(plain("DEL", Json(std::string((1 << 20) + 1, ' '))));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Contains("nothing is attached") && Contains("1048576"));
}

TEST_CASE("STATUS is silent when all is well, and 50 when the IPAM plugin is missing") {
  Node node;
  node.add_device("0000:03:02.1", "vf1");
  Json conf = node.config("1.1.0");
  const Outcome good = node.run(plain("STATUS", conf));
  CHECK(good.status == 0);
  CHECK(good.out.empty());
  conf.set("ipam", *Json::parse(R"({"type":"no-such-ipam"})"));
  const Outcome bad = node.run(plain("STATUS", conf));
  CHECK(code_of(bad) == 50);
  CHECK_THAT(message_of(bad), Contains("no-such-ipam"));
}

TEST_CASE("STATUS is 50 with the remedy when the state folder cannot take a record") {
  const Node node;
  const std::string state = node.path("state");
  std::filesystem::create_directories(state);
  std::string words;
  SECTION("a full file system") {
    shell("mount -t tmpfs -o size=64k none " + state);
    words = "is full; make room";
  }
  SECTION("a file system without inodes") {
    shell("mount -t tmpfs -o size=8m,nr_inodes=4 none " + state + " && mkdir -m 700 " + state +
          "/attachments " + state + "/devices && touch " + state + "/x");
    words = "no inode left";
  }
  SECTION("a read-only file system with the folders") {
    shell("mount -t tmpfs -o size=8m none " + state + " && mkdir " + state + "/attachments " + state +
          "/devices && chmod 700 " + state + " && mount -o remount,ro " + state);
    words = "mount it writable";
  }
  SECTION("a read-only file system without them") {
    shell("mount -t tmpfs -o size=8m,ro none " + state);
    words = "mount its file system writable";
  }
  SECTION("a file in its place") {
    std::filesystem::remove_all(state);
    write_text(state, "");
    words = "remove the file";
  }
  const Outcome outcome = node.run(plain("STATUS", node.config("1.1.0")));
  INFO(outcome.out << outcome.err);
  CHECK(code_of(outcome) == 50);
  CHECK_THAT(message_of(outcome), Contains(state) && Contains(words));
  shell("umount " + state + " 2>/dev/null || true");
}

TEST_CASE("STATUS is 50 when the configured device is gone, not when a pod has it") {
  const ProtocolNode node;
  Json conf = *Json::parse(R"({"cniVersion":"1.1.0","name":"rail0","type":"vfrail","device":"vf1"})");
  CHECK(node.run(plain("STATUS", conf)).status == 0);
  REQUIRE(node.run(node.call("ADD", conf)).status == 0);
  CHECK(node.run(plain("STATUS", conf)).status == 0);
  REQUIRE(node.run(node.call("DEL", conf)).status == 0);
  shell("ip link del vf1");
  const Outcome outcome = node.run(plain("STATUS", conf));
  CHECK(code_of(outcome) == 50);
  CHECK_THAT(message_of(outcome), Contains("no interface vf1") && Contains("name another device"));
}

TEST_CASE("STATUS is 51 while a running pod has lost its device, and only then") {
  ProtocolNode node;
  Json conf = node.config("1.1.0");
  REQUIRE(node.run(node.call("ADD", conf)).status == 0);
  Json status = conf;
  status.set("deviceID", Json());
  CHECK(node.run(plain("STATUS", status)).status == 0);
  std::filesystem::remove_all(node.path("root/sys/bus/pci/devices/0000:03:02.1"));
  const Outcome outcome = node.run(plain("STATUS", status));
  CHECK(code_of(outcome) == 51);
  CHECK_THAT(message_of(outcome),
             Contains("net1 of container pod1 (0000:03:02.1)") && Contains("delete the pod"));
  Json other = status;
  CHECK(node.run(plain("STATUS", other.set("name", "rail1"))).status == 0);
  node.end_pod(node.pod);
  CHECK(node.run(plain("STATUS", status)).status == 0);
}

TEST_CASE("The STATUS error of an IPAM plugin is passed on, or added to our own") {
  const Node node;
  Json conf = node.config("1.1.0");
  conf.set("deviceID", Json()).set("ipam", *Json::parse(R"({"type":"script-ipam"})"));
  const int code = GENERATE(50, 51, 60);
  node.add_ipam("script-ipam", "echo '{\"code\":" + std::to_string(code) + ",\"msg\":\"no range\"}'; exit 1");
  CHECK(code_of(node.run(plain("STATUS", conf))) == code);
  conf.set("device", "none0");
  const Outcome both = node.run(plain("STATUS", conf));
  CHECK(code_of(both) == (code == 51 ? 51 : 50));
  CHECK_THAT(message_of(both), Contains("none0") && Contains("no range"));
}

TEST_CASE("GC releases what is not in the list, of its own network only, and nothing without a list") {
  ProtocolNode node;
  const Json conf = node.config("1.1.0");
  REQUIRE(node.run(node.call("ADD", conf)).status == 0);
  const auto gc = [&](Json with) {
    const Outcome outcome = node.run(node.call("GC", with));
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 0);
    CHECK(outcome.out.empty());
    return node.attached();
  };
  Json with = conf;
  CHECK(gc(conf));
  CHECK(gc(with.set("cni.dev/valid-attachments", Json())));
  CHECK(
      gc(with.set("cni.dev/valid-attachments", *Json::parse(R"([{"containerID":"pod1","ifname":"net1"}])"))));
  Json other = conf;
  CHECK(gc(other.set("name", "rail1").set("cni.dev/valid-attachments", Json::array())));
  CHECK_FALSE(
      gc(with.set("cni.dev/valid-attachments", *Json::parse(R"([{"containerID":"pod1","ifname":"net2"}])"))));
  CHECK_FALSE(gc(with.set("cni.dev/valid-attachments", Json::array())));
  CHECK(shell("ip -br link show vf1").starts_with("vf1"));
}

TEST_CASE(
    "With an IPAM plugin from before CNI 1.1, as Debian has it, GC releases what is ours, and STATUS is "
    "good") {
  const ProtocolNode node;
  Json ipam = *Json::parse(R"({"type":"static","addresses":[{"address":"10.9.0.5/24"}]})");
  Json conf = node.config("1.0.0");
  REQUIRE(node.run(node.call("ADD", conf.set("ipam", ipam))).status == 0);
  conf.set("cniVersion", "1.1.0").set("cni.dev/valid-attachments", Json::array());
  const Outcome collected = node.run(plain("GC", conf));
  INFO(collected.out << collected.err);
  CHECK(collected.status == 0);
  CHECK(node.world() == node.before);
  const Outcome status = node.run(plain("STATUS", conf));
  INFO(status.out << status.err);
  CHECK(status.status == 0);
}

TEST_CASE("Without CNI_COMMAND the program prints a hint on stderr") {
  Outcome outcome = Program({test::program_path("vfrail-cni")}, {}, "").wait();
  CHECK(outcome.status == 0);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Contains("1.1.0"));
}

TEST_CASE("install opens no socket and reads no input") {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("bin"));
  // A pipe that is open for writing as well never ends.
  const std::string traced =
      shell("mkfifo " + dir.path("in") + "; ASAN_OPTIONS=detect_leaks=0 timeout 600 strace -f -qq -y -o " +
            dir.path("trace") + " -e trace=socket,read,readv,pread64,recvfrom,recvmsg " +
            test::program_path("vfrail-cni") + " install --check " + test::program_path("vfrail-check") +
            " " + dir.path("bin") + " 0<>" + dir.path("in") + "; cat " + dir.path("trace"));
  CHECK(std::filesystem::exists(dir.path("bin/vfrail")));
  CHECK(std::filesystem::exists(dir.path("bin/vfrail-check")));
  CHECK_THAT(traced, Contains("read(") && !Contains("socket(") && !Contains("(0<"));
}

TEST_CASE("The program needs no library and no other file") {
  if (!VFRAIL_CNI_IS_STATIC) {
    WARN("this build links vfrail-cni dynamically (sanitizers cannot do otherwise)");
    return;
  }
  const Outcome ldd = Program({"ldd", test::program_path("vfrail-cni")}, {}, "").wait();
  CHECK_THAT(ldd.out + ldd.err, Contains("not a dynamic executable") || Contains("statically linked"));
  const TempDir empty;
  std::filesystem::copy_file(test::program_path("vfrail-cni"), empty.path("vfrail"));
  const Outcome outcome =
      Program({"chroot", empty.path(), "/vfrail"}, {{"CNI_COMMAND", "VERSION"}}, R"({"cniVersion":"1.0.0"})")
          .wait();
  CHECK(outcome.status == 0);
  CHECK(json_of(outcome).find("supportedVersions") != nullptr);
}

}  // namespace vfrail::test
