// An entry with claims behind the node's primary network: the devices of the pod's claims, by one ADD.
#include "cni/verbs/rails.h"
#include "common/container/allocated_unit.h"
#include "common/container/claim_record.h"
#include "common/container/device_metadata.h"
#include "common/files.h"
#include "tests/cni/fake_node.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

// What the plugin of the primary network has answered.
constexpr const char* kPrimary =
    R"({"cniVersion":"1.0.0","interfaces":[{"name":"eth0","mac":"52:54:00:00:00:02","sandbox":"/run/netns/a"}],)"
    R"("ips":[{"interface":0,"address":"10.1.0.2/16"}],"dns":{"nameservers":["10.96.0.10"]}})";

struct ClaimsNode : TrainPod {
  ClaimsNode() {
    args = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0;K8S_POD_UID=uid-0;MAC=02:00:00:00:00:07";
  }
  void prepare(const std::string& name, const std::vector<ClaimRecord::Device>& devices,
               const std::string& pod = "uid-0") const {
    const ClaimRecord record{.claim = {"team", name, "claim-" + name},
                             .pod = {"train-0", pod},
                             .node_pool = "node-1",
                             .driver = "vfrail.io",
                             .requests = {{"nic", devices}}};
    REQUIRE(write_claim(dir.path("run"), record));
    std::vector<DescribedDevice> described;
    for (const ClaimRecord::Device& device : devices) described.push_back({device.device});
    REQUIRE(write_metadata(dir.path("run"), record, 0, described));
  }
  void prepare_two() const {
    prepare("train-0-b", {{"0000-21-10-2", "rdma/b", kSecondVf}});
    prepare("train-0-a", {{"0000-21-10-0", "rdma/a", kFirstVf}});
  }
  static std::string config(const std::string& claims = "true", const std::string& more = "",
                            const std::string& previous = kPrimary) {
    return R"({"cniVersion":"1.0.0","name":"pods","type":"vfrail","ipam":{"type":"fake-ipam"},"claims":)" +
           claims + more + (previous.empty() ? "" : R"(,"prevResult":)" + previous) + "}";
  }
  Request of_eth0(Command command, const std::string& text) const {
    Request out = request(command, text);
    out.ifname = IfName("eth0");
    return out;
  }
  OwnWorlds worlds() {
    return {[this](const std::string&, const std::function<Result<>(World&)>& work) { return process(work); },
            false};  // the fake kernel is for one thread
  }
  Result<> add(const std::string& text = config()) {
    return process([&](World& outside) {
      outside.print_result = [this](const AddResult& result) {
        printed = format_result(result);
        return Result<>();
      };
      return add_rails(of_eth0(Command::add, text), outside, worlds());
    });
  }
  Result<> del(const std::string& text = config()) {
    return process([&](World& outside) { return del_rails(of_eth0(Command::del, text), outside, worlds()); });
  }
  Result<> check(const std::string& text) {
    return process(
        [&](World& outside) { return check_rails(of_eth0(Command::check, text), outside, worlds()); });
  }
  std::string refusal(const std::string& text = config()) {
    const std::string before = everything();
    const auto added = add(text);
    REQUIRE_FALSE(added);
    CHECK(everything() == before);
    return added.error().text;
  }
  std::string device_of(const std::string& name) {
    const auto pod = world.open_path(kPod);
    const auto link = (*pod)->find_link(name);
    REQUIRE(link);
    return *link ? (*link)->parent_device : "";
  }
  DeviceMetadata metadata(const std::string& claim) const {
    const auto text = *read_file(dir.path("run/claims/metadata/claim-" + claim + "-0.json"), size_t{1} << 20);
    return *parse_metadata(*text);
  }
  std::string everything() const {
    std::string out = world.snapshot();
    for (const char* folder : {"state/attachments", "state/devices", "leases", "run/pods"}) {
      std::error_code none;
      for (const auto& entry : fs::directory_iterator(dir.path(folder), none))
        out += entry.path().string() + "\n";
    }
    return out;
  }

  Json printed;
};

size_t count_of(const Json& result, const char* key) { return result.find(key)->as_array()->size(); }

}  // namespace

TEST_CASE(
    "each device's interface and addresses are in its claim's metadata before the container is created") {
  ClaimsNode node;
  node.prepare_two();
  node.prepare("other", {{"x", "rdma/a", "0000:21:1f.7"}}, "uid-1");
  REQUIRE(node.add());
  for (const auto& [claim, ifname] : {std::pair("train-0-a", "net1"), std::pair("train-0-b", "net2")}) {
    const DeviceMetadata metadata = node.metadata(claim);
    REQUIRE(metadata.devices.size() == 1);
    const Json& network = metadata.devices.front().network;
    REQUIRE(network.as_object() != nullptr);
    CHECK(*network.find("interfaceName") == Json(ifname));
    CHECK(network.find("ips")->as_array()->size() == 1);
    CHECK(network.find("hardwareAddress") != nullptr);
  }
  CHECK(node.metadata("other").devices.front().network.is_null());
}

TEST_CASE("an unreadable metadata file of a claim stays unchanged, and ADD succeeds") {
  ClaimsNode node;
  node.prepare_two();
  const std::string file = node.dir.path("run/claims/metadata/claim-train-0-a-0.json");
  REQUIRE(write_file(file, "no JSON", 0644, Durability::renamed));
  REQUIRE(node.add());
  CHECK(**read_file(file, 100) == "no JSON");
  CHECK_FALSE(node.metadata("train-0-b").devices.front().network.is_null());
}

// With dra.enabled the device plugin's container can write to these folders.
TEST_CASE("nothing in the place of a claim's metadata is followed, waited at or written through") {
  ClaimsNode node;
  node.prepare_two();
  const fs::path folder = node.dir.path("run/claims/metadata");
  const fs::path file = folder / "claim-train-0-a-0.json";
  const std::string temporary = file.string() + ".new." + std::to_string(::gettid());
  fs::path victim = node.dir.path("victim");
  fs::copy_file(file, victim);
  const std::string before = **read_file(victim, 10'000);
  SECTION("a link") {
    fs::remove(file);
    fs::create_symlink(victim, file);
  }
  SECTION("a file with another name") {
    fs::remove(file);
    fs::create_hard_link(victim, file);
  }
  SECTION("a link at its temporary name") { fs::create_symlink(victim, temporary); }
  SECTION("a file with another name at its temporary name") { fs::create_hard_link(victim, temporary); }
  SECTION("a FIFO") {
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  }
  SECTION("a FIFO at its temporary name") { REQUIRE(::mkfifo(temporary.c_str(), 0600) == 0); }
  SECTION("a link for the folder") {
    fs::rename(folder, node.dir.path("elsewhere"));
    fs::create_directory_symlink(node.dir.path("elsewhere"), folder);
    victim = node.dir.path("elsewhere/claim-train-0-a-0.json");
  }
  const fs::file_type kind = fs::symlink_status(file).type();
  REQUIRE(node.add());
  CHECK(**read_file(victim, 10'000) == before);
  CHECK(fs::symlink_status(file).type() == kind);
  CHECK(node.del());
}

TEST_CASE(
    "a link or a FIFO in the place of a claim's record stops its pod, and is not followed or waited at") {
  ClaimsNode node;
  node.prepare_two();
  const fs::path file = node.dir.path("run/claims/claim-train-0-a.json");
  SECTION("a link") {
    fs::rename(file, node.dir.path("elsewhere"));
    fs::create_symlink(node.dir.path("elsewhere"), file);
  }
  SECTION("a FIFO") {
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  }
  SECTION("a link for the folder") {
    fs::rename(node.dir.path("run/claims"), node.dir.path("elsewhere"));
    fs::create_directory_symlink(node.dir.path("elsewhere"), node.dir.path("run/claims"));
  }
  CHECK_THAT(node.refusal(), Contains("run/claims"));
}

TEST_CASE("a claim's record whose device is a path leads nowhere") {
  ClaimsNode node;
  node.prepare("train-0-a", {{"0000-21-10-0", "rdma/a", "../../elsewhere"}});
  CHECK_THAT(node.refusal(), Contains("../../elsewhere"));
}

TEST_CASE("the devices of a pod's claims are attached behind the primary network, and restored by one DEL") {
  ClaimsNode node;
  node.prepare_two();
  node.prepare("other", {{"x", "rdma/a", "0000:21:1f.7"}}, "uid-1");
  const std::string before = node.everything();
  REQUIRE(node.add());
  // In the order of the claims' names.
  CHECK(node.device_of("net1") == kFirstVf);
  CHECK(node.device_of("net2") == kSecondVf);
  REQUIRE(count_of(node.printed, "interfaces") == 3);
  CHECK(*(*node.printed.find("interfaces")->as_array())[0].find("name") == Json("eth0"));
  CHECK(*(*node.printed.find("interfaces")->as_array())[2].find("name") == Json("net2"));
  REQUIRE(count_of(node.printed, "ips") == 3);
  CHECK(*(*node.printed.find("ips")->as_array())[2].find("interface") == Json(2));
  CHECK(*node.printed.find("dns")->find("nameservers") == *Json::parse(R"(["10.96.0.10"])"));
  CHECK(fs::exists(node.dir.path("leases/c1.net1")));
  const auto record = node.process([&](World& one) {
    return *one.store.load({node.container, IfName("net2")});
  });
  REQUIRE(record);
  CHECK(record->network == "pods-claims");
  CHECK(record->rail_of == "eth0");
  // MAC is of the pod's first interface.
  CHECK(record->cni_args == "K8S_POD_NAME=train-0;K8S_POD_NAMESPACE=team;K8S_POD_UID=uid-0");
  CHECK(node.check(ClaimsNode::config("true", "", node.printed.text())));
  REQUIRE(node.del());
  CHECK(node.everything() == before);
  CHECK(node.del());
}

TEST_CASE("a pod without claims gets the result of the plugins before, and leaves no state") {
  ClaimsNode node;
  node.prepare("other", {{"0000-21-10-0", "rdma/a", kFirstVf}}, "uid-1");
  node.prepare("shared", {{"0000-21-00-0", "rdma/shared", "0", "share-1", 1}});
  const std::string before = node.everything();
  REQUIRE(node.add());
  CHECK(node.printed == *Json::parse(kPrimary));
  CHECK(node.everything() == before);
  CHECK(node.check(ClaimsNode::config("true", "", node.printed.text())));
  // The address of eth0 is the primary network's, and no IPAM plugin is asked about it.
  node.install_ipam("fake-ipam", "exit 3");
  CHECK(node.del());
}

TEST_CASE("the pod of a runtime that passes no uid is known by its name") {
  ClaimsNode node;
  node.prepare_two();
  node.args = GENERATE("K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0",
                       "K8S_POD_NAMESPACE=other;K8S_POD_NAME=train-0", "IgnoreUnknown=1");
  CAPTURE(node.args);
  REQUIRE(node.add());
  CHECK(node.has("net1") == (node.args.find("=team") != std::string::npos));
}

TEST_CASE("if one device of the claims cannot be attached, none is") {
  ClaimsNode node;
  node.prepare("train-0-a", {{"0000-21-10-0", "rdma/a", kFirstVf}, {"x", "rdma/a", "0000:21:1f.7"}});
  CHECK_THAT(node.refusal(), Contains("net2 (0000:21:1f.7 of claim team/train-0-a)"));
}

TEST_CASE("a claim's record that cannot be read stops its pod, and no other") {
  ClaimsNode node;
  node.prepare_two();
  std::ofstream(node.dir.path("run/claims/claim-train-0-a.json")) << R"({"pod":{"uid":"uid-0"}})";
  CHECK_THAT(node.refusal(), Contains("claims of the pod") && Contains("claim-train-0-a.json"));
  node.args = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-1;K8S_POD_UID=uid-1";
  CHECK(node.add());
}

TEST_CASE("each resource can have keys of its own, and each rail of a unit its addresses") {
  ClaimsNode node;
  node.prepare("train-0-a", {{"rdma-hca-bundle-0", "rdma/hca", "bundle-0"}});
  AllocatedUnit unit{"bundle-0", "rdma/hca", {*DeviceId::parse(kFirstVf), *DeviceId::parse(kSecondVf)}};
  REQUIRE(write_allocated_unit(node.dir.path("run"), unit));
  node.install_ipam("shows",
                    "cat > $node/asked.$CNI_IFNAME; [ $CNI_COMMAND != ADD ] || echo "
                    R"('{"cniVersion":"1.0.0","ips":[{"address":"10.9.0.2/24","gateway":"10.9.0.1"}]}')");
  const std::string keys = R"({"ipam":{"type":"shows"},"mtu":4200,"sourceRouting":true,)"
                           R"("rails":{"ipam":[{"range":"10.1.0.0/16"},{"range":"10.2.0.0/16"}]}})";
  REQUIRE(node.add(ClaimsNode::config(R"({"ifname":"railNUMBER","resources":{"rdma/other":{},"rdma/hca":)" +
                                      keys + "}}")));
  CHECK(node.device_of("rail2") == kSecondVf);
  CHECK_THAT(node.text("asked.rail1"), Contains("10.1.0.0/16") && Contains(R"("name":"pods-claims")"));
  CHECK_THAT(node.text("asked.rail2"), Contains("10.2.0.0/16") && Contains(R"("mtu":4200)"));
  CHECK_THAT(node.text("asked.rail2"), !Contains("prevResult") && !Contains(R"("claims")"));
  REQUIRE(remove_allocated_unit(node.dir.path("run"), unit));
  REQUIRE(node.del());
  CHECK_FALSE(node.has("rail1"));
}

TEST_CASE("an entry with claims that is a network of its own is refused") {
  ClaimsNode node;
  CHECK_THAT(node.refusal(ClaimsNode::config("true", "", "")), Contains("prevResult is missing"));
}

TEST_CASE("what the primary network attaches is refused to the pod's network, with the remedy") {
  ClaimsNode node;
  node.prepare_two();
  REQUIRE(node.add());
  const std::string before = node.everything();
  const std::string name = GENERATE(as<std::string>(), "net1", "net7");
  CAPTURE(name);
  const auto twice = node.process([&](World& one) {
    Request request = node.request(
        Command::add, R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","deviceID":"0000:21:10.0"})");
    request.args.erase("MAC");
    request.ifname = *IfName::parse(name);
    return vfrail::cni::add(request, one);
  });
  REQUIRE_FALSE(twice);
  CHECK_THAT(twice.error().text, Contains("attached already") && Contains("annotation"));
  CHECK(node.everything() == before);
}

TEST_CASE("what the pod has by a network definition from before is left to that") {
  ClaimsNode node;
  node.prepare_two();
  const auto of_multus = [&](auto verb, Command command) {
    return node.process([&](World& one) {
      Request request = node.request(
          command, R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","deviceID":"0000:21:10.0"})");
      request.args.erase("MAC");
      return verb(request, one);
    });
  };
  REQUIRE(of_multus(vfrail::cni::add, Command::add));
  const std::string before = node.everything();
  REQUIRE(node.del());
  CHECK(node.everything() == before);
  REQUIRE(of_multus(vfrail::cni::del, Command::del));
}

TEST_CASE("CHECK names the device of a claim that is not attached") {
  ClaimsNode node;
  node.prepare("train-0-a", {{"0000-21-10-0", "rdma/a", kFirstVf}});
  REQUIRE(node.add());
  node.prepare_two();
  const auto checked = node.check(ClaimsNode::config("true", "", node.printed.text()));
  REQUIRE_FALSE(checked);
  CHECK_THAT(checked.error().text, Contains("net2") && !Contains("net1:"));
}

TEST_CASE("GC keeps the devices of a valid pod's claims, and asks the IPAM plugin about their network") {
  ClaimsNode node;
  node.prepare_two();
  const std::string before = node.everything();
  REQUIRE(node.add());
  const std::string during = node.everything();
  const auto gc = [&](const std::string& container) {
    const std::string text = ClaimsNode::config("true",
                                                R"(,"cni.dev/valid-attachments":[{"containerID":")" +
                                                    container + R"(","ifname":"eth0"}],"cniVersion":"1.1.0")",
                                                "");
    return node.process(
        [&](World& outside) { return vfrail::cni::gc(node.request(Command::gc, text), outside); });
  };
  REQUIRE(gc("c1"));
  CHECK(node.everything() == during);
  REQUIRE(gc("c2"));
  CHECK(node.everything() == before);
  node.install_ipam("fake-ipam", "cat > $node/asked.$CNI_COMMAND");
  REQUIRE(gc("c2"));
  CHECK_THAT(node.text("asked.GC"), Contains(R"("name":"pods-claims")"));
}

TEST_CASE("DEL releases the address of a claim's device whose record is damaged, also without the claim") {
  ClaimsNode node;
  node.prepare_two();
  REQUIRE(node.add());
  std::ofstream(node.dir.path("state/attachments/c1:net2.json")) << "{ torn";
  fs::remove_all(node.dir.path("run/claims"));
  REQUIRE(node.del());
  CHECK(fs::is_empty(node.dir.path("leases")));
  CHECK(fs::exists(node.dir.path("state/attachments/c1:net2.corrupt")));
}

TEST_CASE("an ADD of a pod's claims that is killed at any call of the kernel is undone by its DEL",
          "[sweep]") {
  int points = 0;
  for (int call = 1;; ++call, ++points) {
    CAPTURE(call);
    ClaimsNode node;
    node.prepare_two();
    const std::string before = node.everything();
    node.world.forget_faults();
    node.world.kill_call(call);
    const bool died = killed([&] { (void)node.add(); });
    node.world.forget_faults();
    REQUIRE(node.del());
    REQUIRE(node.everything() == before);
    if (!died) break;
  }
  CHECK(points > 20);
}

}  // namespace vfrail::test
