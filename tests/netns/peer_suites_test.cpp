// The cases of the suites that host-device and tuning are tested with upstream, as far as other tests do not
// hold them already; cni/INTERNALS.md has the list.
#include "tests/netns/one_pod.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

// An interface that is up, known by its name alone, and an empty pod.
struct Suite : OnePod {
  Suite() {
    shell("ip link add host0 type veth peer name host0p && ip link set host0 up && ip link set host0p up");
    before = world();
  }
  static Json config_of(const std::string& version, const std::string& keys) {
    Json out = *Json::parse("{" + keys + "}");
    return out.set("cniVersion", version)
        .set("name", "rail0")
        .set("type", "host-device")
        .set("device", "host0");
  }
  std::string details() const { return in_pod(pod, "ip -d link show dev net1"); }
  std::string address() const { return text_of(link_in_pod(pod, "net1"), "address"); }
  static std::string text_of(const Json& object, const char* key) {
    const Json* found = object.find(key);
    return found == nullptr || found->as_text() == nullptr ? "" : *found->as_text();
  }
};

constexpr const char* kStatic =
    R"("ipam":{"type":"static","addresses":[{"address":"10.10.0.1/24","gateway":"10.10.0.254"}]})";

}  // namespace

TEST_CASE("host-device's suite: an interface by name, with addresses and without, in every version") {
  const std::string version = GENERATE("0.3.0", "0.3.1", "0.4.0", "1.0.0");
  const bool with_ipam = GENERATE(false, true);
  CAPTURE(version, with_ipam);
  const Suite node;
  const Json conf = Suite::config_of(version, with_ipam ? kStatic : "");
  const Json result = node.done(node.call("ADD", conf));
  Json interface = Json::object();
  interface.set("name", "net1").set("mac", node.address()).set("sandbox", node.pod);
  CHECK(*result.find("interfaces") == Json(Json::Array{interface}));
  CHECK_THAT(node.details(), Contains("UP"));
  CHECK((result.find("ips") != nullptr) == with_ipam);
  if (with_ipam) CHECK_THAT(node.in_pod(node.pod, "ip addr show dev net1"), Contains("10.10.0.1/24"));
  if (version >= "0.4.0") node.done(node.call("CHECK", Json(conf).set("prevResult", result)));
  node.done(node.call("DEL", conf));
  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("host-device's suite: a configuration that names no device is refused with what to name") {
  const Suite node;
  const Outcome outcome =
      node.run(node.call("ADD", *Json::parse(R"({"cniVersion":"1.0.0","name":"n","type":"host-device"})")));
  CHECK(code_of(outcome) == 7);
  CHECK_THAT(message_of(outcome), Contains("set device, hwaddr, kernelpath or pciBusID"));
}

TEST_CASE("host-device's suite: a device bound to vfio-pci has its addresses in the result alone") {
  const std::string version = GENERATE("0.3.1", "0.4.0", "1.0.0");
  const Suite node;
  write_tree(node.path("root"), "sys/bus/pci/devices/0000:00:00.1/driver -> ../../drivers/vfio-pci\n");
  Json conf = *Json::parse(std::string(R"({"name":"n","type":"host-device","pciBusID":"0000:00:00.1",)") +
                           kStatic + "}");
  conf.set("cniVersion", version);
  const Json result = node.done(node.call("ADD", conf));
  Json interface = Json::object();
  interface.set("name", "net1").set("sandbox", node.pod);
  CHECK(*result.find("interfaces") == Json(Json::Array{interface}));
  CHECK(Suite::text_of(result.find("ips")->as_array()->at(0), "address") == "10.10.0.1/24");
  if (version >= "0.4.0") node.done(node.call("CHECK", Json(conf).set("prevResult", result)));
  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("tuning's suite: each setting is made, checked and restored, from the network or from args.cni") {
  const auto [setting, words] = GENERATE(table<std::string, std::string>({
      {R"("promisc":true)", "PROMISC"},
      {R"("allmulti":true)", "ALLMULTI"},
      {R"("mtu":1454)", "mtu 1454"},
      {R"("txQLen":20000)", "qlen 20000"},
      {R"("mac":"c2:11:22:33:44:55")", "c2:11:22:33:44:55"},
      {R"("mac":"c2:11:22:33:44:66","promisc":true,"mtu":4000,"txQLen":20000)", "c2:11:22:33:44:66"},
  }));
  const bool from_args = GENERATE(false, true);
  CAPTURE(setting, from_args);
  const Suite node;
  const Json conf = Suite::config_of("1.0.0", from_args ? R"("args":{"cni":{)" + setting + "}}" : setting);
  const Json result = node.done(node.call("ADD", conf));
  CHECK_THAT(node.details(), Contains(words));
  CHECK(Suite::text_of(result.find("interfaces")->as_array()->at(0), "mac") == node.address());
  const Call check = node.call("CHECK", Json(conf).set("prevResult", result));
  node.done(check);
  node.in_pod(
      node.pod,
      "ip link set net1 promisc off allmulticast off mtu 1300 txqueuelen 7 address 02:00:00:00:00:99");
  CHECK(code_of(node.run(check)) == 103);
  node.done(node.call("DEL", conf));
  CHECK(node.world() == node.before);
}

TEST_CASE("tuning's suite: MACs count in the order args.cni, runtimeConfig, CNI_ARGS, network") {
  const Suite node;
  Json conf = Suite::config_of("1.0.0", R"("mac":"c2:11:22:33:44:01")");
  Call call = node.call("ADD", conf);
  std::string wanted = "c2:11:22:33:44:01";
  const int sources = GENERATE(0, 1, 2, 3);
  CAPTURE(sources);
  if (sources >= 1) {
    call.args = "IgnoreUnknown=true;MAC=c2:11:22:33:44:02";
    wanted = "c2:11:22:33:44:02";
  }
  if (sources >= 2) {
    conf.set("runtimeConfig", *Json::parse(R"({"mac":"c2:11:22:33:44:03"})"));
    wanted = "c2:11:22:33:44:03";
  }
  if (sources >= 3) {
    conf.set("args", *Json::parse(R"({"cni":{"mac":"c2:11:22:33:44:04"}})"));
    wanted = "c2:11:22:33:44:04";
  }
  call.config = conf;
  node.done(call);
  CHECK(node.address() == wanted);
  call.verb = "DEL";
  node.done(call);
  CHECK(node.world() == node.before);
}

TEST_CASE("tuning's suite: an interface name with a slash is refused") {
  const Suite node;
  Call slash = node.call("ADD", Suite::config_of("1.0.0", ""));
  slash.ifname = "eth/0";
  CHECK(code_of(node.run(slash)) == 4);
  CHECK(node.world() == node.before);
}

}  // namespace vfrail::test
