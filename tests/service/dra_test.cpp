// The DRA driver over real unix sockets, as kubelet calls it; the API server is played by a map.
#include "common/container/cdi_spec.h"
#include "common/node/attachments.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/dra/slice_devices.h"
#include "plugin/service/dra/offer_publisher.h"
#include "proto/pluginregistration_v1.grpc.pb.h"
#include "tests/service/dra_node.h"
#include "tests/support/deadline.h"
#include "tests/support/write_attachment.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace {

namespace fs = std::filesystem;
template <class Api>
void check_one_claim() {
  DraNode dra;
  dra.api.put(kUid, kNic);
  const auto response = dra.prepare<Api>({kUid});
  const auto& claim = response.claims().at(kUid);
  CHECK(claim.error().empty());
  REQUIRE(claim.devices_size() == 1);
  const auto& device = claim.devices(0);
  REQUIRE(device.request_names_size() == 1);
  CHECK(device.request_names(0) == "nic");
  CHECK(device.pool_name() == "node-1");
  CHECK(device.device_name() == "0000-21-10-0");
  REQUIRE(device.cdi_device_ids_size() == 2);
  CHECK(device.cdi_device_ids(0) == "vfrail.io/claim=" + kUid + "-nic");
  CHECK(device.cdi_device_ids(1) == "nvidia.com/net-pci=0000:21:10.0");
  CHECK(dra.specs() ==
        Texts{"vfrail-nvidia.com-net-pci-0000:21:10.0.json", "vfrail-vfrail.io-claim-" + kUid + "-nic.json"});
  CHECK(dra.template unprepare<Api>(kUid).empty());
  CHECK(dra.specs().empty());
  CHECK(list_claims(dra.node.run_dir())->empty());
}

}  // namespace

TEST_CASE("kubelet prepares and unprepares a claim, in both versions of its API") {
  SECTION("v1") { check_one_claim<DraV1>(); }
  SECTION("v1beta1") { check_one_claim<DraV1Beta1>(); }
}

TEST_CASE("the services have the names that kubelet calls") {
  CHECK(std::string(DraV1::Service::service_full_name()) == "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin");
  CHECK(std::string(DraV1Beta1::Service::service_full_name()) ==
        "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin");
  CHECK(std::string(DraHealthV1::Service::service_full_name()) == "v1.DRAResourceHealth");
  CHECK(std::string(DraHealthV1Alpha1::Service::service_full_name()) == "v1alpha1.DRAResourceHealth");
}

TEST_CASE("a claim that is prepared is answered again without the API server") {
  DraNode dra;
  dra.api.put(kUid, kNic);
  const auto first = dra.prepare({kUid});
  const int calls = dra.api.calls();
  dra.api.set_away(true);
  const auto same = [&](const auto& again) {
    CHECK(again.claims().at(kUid).error().empty());
    CHECK(again.SerializeAsString() == first.SerializeAsString());
  };
  SECTION("kubelet has restarted") { same(dra.prepare({kUid})); }
  SECTION("the plugin has, and the CDI folder was emptied: before any call") {
    const Texts specs = dra.specs();
    dra.publisher.reset();
    fs::remove_all(dra.node.cdi_dir());
    fs::create_directories(dra.node.cdi_dir());
    const std::string verbs =
        dra.node.root() + "/sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/infiniband_verbs/";
    fs::rename(verbs + "uverbs0", verbs + "uverbs70");
    dra.start();
    REQUIRE(eventually([&] { return dra.specs() == specs; }));
    same(dra.prepare({kUid}));
    CHECK(has(read_text(dra.node.cdi_spec("0000:21:10.0")), "/dev/infiniband/uverbs70"));
    return;  // the API server was asked whether the claim is still there
  }
  SECTION("twice in one call") { same(dra.prepare({kUid, kUid})); }
  CHECK(dra.api.calls() == calls);
}

TEST_CASE("after a boot a claim is prepared anew, with the device nodes of today") {
  DraNode dra;
  dra.api.put(kUid, kNic);
  const auto first = dra.prepare({kUid});
  dra.publisher.reset();
  for (const std::string& folder : {dra.node.cdi_dir(), dra.node.run_dir()}) {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  const std::string verbs =
      dra.node.root() + "/sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/infiniband_verbs/";
  fs::rename(verbs + "uverbs0", verbs + "uverbs70");
  dra.start();
  CHECK(dra.prepare({kUid}).SerializeAsString() == first.SerializeAsString());
  CHECK(has(read_text(dra.node.cdi_spec("0000:21:10.0")), "/dev/infiniband/uverbs70"));
}

TEST_CASE(
    "a claim that cannot be prepared has an error of its own, and the others of the call are prepared") {
  DraNode dra;
  dra.api.put("good", {{"nic", {"0000-41-10-0"}}});
  const auto refused = [&] {
    const auto response = dra.prepare({"good", kUid});
    CHECK(response.claims().at("good").error().empty());
    CHECK(response.claims().at("good").devices_size() == 1);
    return response.claims().at(kUid).error();
  };
  SECTION("the claim is gone") { CHECK(has(refused(), "is not there any more")); }
  SECTION("it is not allocated") {
    dra.api.put_json(kUid, Json::object().set("metadata", Json::object().set("uid", kUid)));
    CHECK(has(refused(), "claim default/gpu-and-nic: the claim is not allocated"));
  }
  SECTION("a device that is not offered") {
    dra.api.put(kUid, {{"nic", {"0000-99-00-0"}}});
    CHECK(has(refused(), "has device 0000-99-00-0, which this node does not offer now"));
  }
  SECTION("the other's device") {
    dra.prepare({"good"});
    dra.api.put(kUid, {{"nic", {"0000-41-10-0"}}});
    CHECK(has(refused(), "is prepared for claim default/gpu-and-nic of pod trainer-0"));
  }
}

TEST_CASE("a uid that is none is refused, and no file is made for it") {
  const DraNode dra;
  CHECK(has(dra.refusal("../../etc/passwd"), "must be a uid"));
  CHECK(has(dra.unprepare("../../etc/passwd"), "must be a uid"));
}

TEST_CASE("while vfrail-kube is away a new claim is refused with the reason, and prepared afterwards") {
  DraNode dra;
  dra.api.put(kUid, kNic);
  SECTION("not reached") {
    dra.api.set_away(true);
    CHECK(has(dra.refusal(),
              "ask the API server for claim default/gpu-and-nic: vfrail-kube node is not reached"));
    dra.api.set_away(false);
  }
  SECTION("it has not named the node yet") {
    dra.publisher.reset();
    dra.node_pool.clear();
    dra.start();
    CHECK(has(dra.refusal(), "the name of this node's pool is not known yet"));
    dra.publisher.reset();
    dra.node_pool = "node-1";
    dra.start();
  }
  CHECK(dra.specs().empty());
  CHECK(dra.prepare({kUid}).claims().at(kUid).error().empty());
}

TEST_CASE("a claim is unprepared when its device is back, and one that was never seen at once") {
  DraNode dra;
  CHECK(dra.unprepare("never-seen").empty());
  dra.api.put(kUid, kNic);
  dra.prepare({kUid});
  const Texts specs = dra.specs();
  Record record;
  record.attachment = {"c1", "net1"};
  record.device_key = "0000:21:10.0";
  record.device = *DeviceId::parse(record.device_key);
  record.netns = "/var/run/netns/c1";
  record.config = R"({"type":"vfrail"})";
  record.cni_args = "K8S_POD_NAMESPACE=demo;K8S_POD_NAME=trainer-0";
  write_attachment(Attachments(dra.node.path("cni")), record);
  CHECK(has(dra.unprepare(kUid), "is still attached as net1 of pod demo/trainer-0"));
  CHECK(dra.specs() == specs);
  dra.api.set_away(true);  // nothing is asked for it
  fs::remove_all(dra.node.path("cni"));
  CHECK(dra.unprepare(kUid).empty());
  CHECK(dra.specs().empty());
}

TEST_CASE("a prepare that was killed is prepared anew") {
  DraNode dra;
  dra.api.put(kUid, kNic);
  const auto first = dra.prepare({kUid});
  auto prepared = read_prepared(dra.node.run_dir(), kUid);
  REQUIRE(prepared);
  (*prepared)->edits.reset();
  REQUIRE(write_prepared(dra.node.run_dir(), **prepared));
  fs::remove(dra.node.cdi_spec("0000:21:10.0"));
  const int calls = dra.api.calls();
  CHECK(dra.prepare({kUid}).SerializeAsString() == first.SerializeAsString());
  CHECK(dra.api.calls() == calls + 1);
  CHECK(dra.specs().size() == 2);
}

TEST_CASE("a device of a claim that is gone without an unprepare goes to the next claim") {
  DraNode dra;
  dra.api.put("lost", kNic);
  dra.prepare({"lost"});
  dra.api.remove("lost");
  dra.api.put(kUid, kNic);
  CHECK(dra.prepare({kUid}).claims().at(kUid).error().empty());
  CHECK(*list_claims(dra.node.run_dir()) == Texts{kUid});
}

TEST_CASE("at the start claims that the API server has no more are unprepared, others stay") {
  DraNode dra;
  dra.api.put(kUid, kNic);
  dra.api.put("lost", {{"nic", {"0000-41-10-0"}}});
  dra.prepare({kUid, "lost"});
  dra.publisher.reset();
  dra.api.remove("lost");
  dra.start();
  CHECK(eventually([&] { return *list_claims(dra.node.run_dir()) == Texts{kUid}; }));
}

TEST_CASE("claims are counted by their outcome, and those that are prepared") {
  DraNode node;
  const auto counts = [&] { return *node.counters.get().claims; };
  CHECK(counts().prepared == 0);
  node.api.put(kUid, {{"nic", {"0000-21-10-0"}}});
  node.prepare({kUid});
  CHECK(counts().prepares.ok == 1);
  CHECK(counts().prepared == 1);
  CHECK(counts().prepare_seconds.count() == 1);
  node.api.set_away(true);
  node.prepare({"77777777-5b7d-4c0e-9b1a-0d3c8c0f7a22"});
  CHECK(counts().prepares.failed == 1);
  REQUIRE(counts().prepare_failures.size() == 1);
  CHECK(counts().prepare_failures.begin()->first.starts_with("VF-"));
  CHECK(counts().prepared == 1);
  CHECK(node.unprepare(kUid).empty());
  CHECK(counts().unprepares.ok == 1);
  CHECK(counts().prepared == 0);
}

TEST_CASE("what goes by claims is in a file for inspect until serve ends, and another instance's stays") {
  const test::TempDir folder;
  Log log;
  REQUIRE(log.open_file("/dev/null"));
  const auto options = [&](const std::string& instance) {
    return OfferPublisher::Options{
        .offer = {}, .socket = folder.path("no.sock"), .run_dir = folder.path("run"), .instance = instance};
  };
  SharedSwitch shared(folder.path("run"), log);
  OfferPublisher old(options("one"), shared, log);
  OfferPublisher next(options("two"), shared, log);
  const auto now = std::chrono::steady_clock::now();
  old.run_due(now);
  REQUIRE(*read_offer_state(folder.path("run")));
  CHECK((*read_offer_state(folder.path("run")))->instance == "one");
  next.run_due(now);
  old.close({});
  const auto left = read_offer_state(folder.path("run"));
  REQUIRE(left);
  REQUIRE(*left);
  CHECK((*left)->instance == "two");
  CHECK((*left)->driver == "vfrail.io");
  CHECK_FALSE((*left)->published);
  next.close({});
  CHECK_FALSE(*read_offer_state(folder.path("run")));
}

TEST_CASE("two requests of a claim have an environment of their own") {
  DraNode dra;
  dra.api.put(kUid, {{"left", {"0000-21-10-0"}}, {"right", {"0000-41-10-0", "0000-41-10-2"}}});
  const auto response = dra.prepare({kUid});
  REQUIRE(response.claims().at(kUid).devices_size() == 3);
  const auto env = [&](const std::string& request) {
    const auto spec =
        read_cdi_spec(dra.node.cdi_dir() + "/vfrail-vfrail.io-claim-" + kUid + "-" + request + ".json");
    REQUIRE(spec);
    REQUIRE(*spec);
    return (*spec)->edits.env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV");
  };
  CHECK(env("left") == "0000:21:10.0");
  CHECK(env("right") == "0000:41:10.0,0000:41:10.2");
}

namespace {

std::vector<ClaimedRequest> shares_of(const Texts& requests, const std::string& uid) {
  std::vector<ClaimedRequest> out;
  for (const std::string& request : requests)
    out.push_back({request, {"rdma-hca-shared"}, {{"rdma-hca-shared", uid + "-" + request}}});
  return out;
}

}  // namespace

TEST_CASE("shares of a device are prepared for many claims, and released one by one") {
  DraNode dra;
  dra.share(UnitKind::shared);
  Texts uids;
  for (int i = 0; i < 20; ++i) {
    uids.push_back("pod-" + std::to_string(i));
    dra.api.put(uids.back(), shares_of({"hca"}, uids.back()));
  }
  const auto all = dra.prepare(uids);
  for (const std::string& uid : uids) {
    const auto& claim = all.claims().at(uid);
    CHECK(claim.error().empty());
    REQUIRE(claim.devices_size() == 1);
    CHECK(claim.devices(0).share_id() == uid + "-hca");
    CHECK(claim.devices(0).device_name() == "rdma-hca-shared");
    // What the device plugin gives for one unit: every device of the pool.
    CHECK(claim.devices(0).cdi_device_ids_size() == 8);
    CHECK(claim.devices(0).cdi_device_ids(0) == "nvidia.com/net-rdma=rdma:hca:0000:21:10.0");
  }
  const Texts specs = dra.specs();
  CHECK(specs.size() == 8);
  CHECK(dra.unprepare("pod-3").empty());
  CHECK(dra.specs() == specs);
  CHECK(list_claims(dra.node.run_dir())->size() == 19);
  CHECK(dra.prepare({"pod-4"}).claims().at("pod-4").SerializeAsString() ==
        all.claims().at("pod-4").SerializeAsString());
}

TEST_CASE("two containers that ask for a share each have one each, of the same device") {
  DraNode dra;
  dra.share(UnitKind::shared);
  dra.api.put(kUid, shares_of({"container-0-request-0", "container-1-request-0"}, kUid));
  const auto response = dra.prepare({kUid});
  const auto& claim = response.claims().at(kUid);
  CHECK(claim.error().empty());
  REQUIRE(claim.devices_size() == 2);
  for (const auto& device : claim.devices()) {
    CHECK(device.share_id() == kUid + "-" + device.request_names(0));
    CHECK(device.cdi_device_ids_size() == 8);
  }
  // v1beta1 has no field for shares.
  const auto older = dra.prepare<DraV1Beta1>({kUid});
  CHECK(older.claims().at(kUid).devices_size() == 2);
}

TEST_CASE("a pool whose units are one device each gives that device, with its variable") {
  DraNode dra;
  dra.share(UnitKind::shared_one);
  const std::string device = "rdma-hca-0000-41-10-0";
  dra.api.put(kUid, {{"hca", {device}, {{device, "s-1"}}}});
  const auto response = dra.prepare({kUid});
  const auto& claim = response.claims().at(kUid);
  CHECK(claim.error().empty());
  REQUIRE(claim.devices_size() == 1);
  REQUIRE(claim.devices(0).cdi_device_ids_size() == 2);
  CHECK(claim.devices(0).cdi_device_ids(0) == "vfrail.io/claim=" + kUid + "-hca");
  CHECK(claim.devices(0).cdi_device_ids(1) == "nvidia.com/net-rdma=rdma:hca:0000:41:10.0");
}

TEST_CASE("a shared device that was allocated as a whole is refused, with the feature gate") {
  DraNode dra;
  dra.share(UnitKind::shared);
  dra.api.put(kUid, {{"hca", {"rdma-hca-shared"}}});
  CHECK(has(dra.refusal(), "no share of it (shareID)"));
  CHECK(has(dra.refusal(), "DRAConsumableCapacity"));
  CHECK(list_claims(dra.node.run_dir())->empty());
}

TEST_CASE("shares are prepared again from their records, where the node has new device numbers") {
  DraNode dra;
  dra.share(UnitKind::shared);
  dra.api.put(kUid, shares_of({"hca"}, kUid));
  const auto first = dra.prepare({kUid});
  dra.publisher.reset();
  fs::remove_all(dra.node.cdi_dir());
  fs::create_directories(dra.node.cdi_dir());
  dra.start();
  REQUIRE(eventually([&] { return dra.specs().size() == 8; }));
  CHECK(dra.prepare({kUid}).SerializeAsString() == first.SerializeAsString());
}

TEST_CASE("two hundred claims at once are all prepared and released, each by a call of its own", "[sweep]") {
  DraNode dra;
  dra.share(UnitKind::shared);
  Texts uids;
  for (int i = 0; i < 200; ++i) {
    uids.push_back("pod-" + std::to_string(i));
    dra.api.put(uids.back(), shares_of({"hca"}, uids.back()));
  }
  std::atomic<int> prepared = 0;
  std::atomic<int> released = 0;
  const auto call = [&](const std::string& uid) {
    DraV1::PrepareRequest request;
    request.add_claims()->set_uid(uid);
    DraV1::PrepareResponse response;
    grpc::ClientContext context;
    const auto stub = DraV1::Service::NewStub(dra.channel(dra.plugin_socket()));
    if (!stub->NodePrepareResources(&context, request, &response).ok()) return;
    if (response.claims().at(uid).error().empty()) ++prepared;
    DraV1::UnprepareRequest undo;
    undo.add_claims()->set_uid(uid);
    DraV1::UnprepareResponse undone;
    grpc::ClientContext again;
    if (!stub->NodeUnprepareResources(&again, undo, &undone).ok()) return;
    if (undone.claims().at(uid).error().empty()) ++released;
  };
  std::vector<std::thread> callers;
  for (const std::string& uid : uids) callers.emplace_back([&, uid] { call(uid); });
  for (std::thread& caller : callers) caller.join();
  CHECK(prepared == 200);
  CHECK(released == 200);
  CHECK(list_claims(dra.node.run_dir())->empty());
  CHECK(dra.specs().size() == 8);  // of the devices, which stay in the host
}

TEST_CASE("two hundred claims at once are each answered, in one call and in as many") {
  DraNode dra;
  const auto answers = [](const auto& response, const std::string& uid) {
    const auto& claim = response.claims().at(uid);
    return claim.error().empty() && claim.devices_size() == 1;
  };
  Texts names;
  const PublishedPool published(dra.pool);
  for (const SliceDevice& device : slice_devices(published, 1)) names.push_back(device.name);
  // Of eight devices: those that are taken are refused.
  Texts uids;
  for (int i = 0; i < 200; ++i) {
    uids.push_back("claim-" + std::to_string(i));
    dra.api.put(uids.back(), {{"nic", {names.at(size_t(i) % 8)}}});
  }
  const auto all = dra.prepare(uids);
  CHECK(std::count_if(uids.begin(), uids.end(), [&](const auto& uid) { return answers(all, uid); }) == 8);
  for (const std::string& uid : uids) {
    if (!answers(all, uid)) CHECK(has(all.claims().at(uid).error(), "is prepared for claim"));
  }
  std::atomic<int> done = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      for (size_t at = size_t(i); at < uids.size(); at += 8) {
        DraV1::UnprepareRequest request;
        request.add_claims()->set_uid(uids[at]);
        DraV1::UnprepareResponse response;
        grpc::ClientContext context;
        const auto stub = DraV1::Service::NewStub(dra.channel(dra.plugin_socket()));
        if (stub->NodeUnprepareResources(&context, request, &response).ok()) ++done;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(done == 200);
  CHECK(dra.specs().empty());
}

TEST_CASE("the registration names the driver, its socket and the versions in our order") {
  const DraNode dra;
  const auto stub = pluginregistration::Registration::NewStub(dra.channel(dra.registration_socket()));
  pluginregistration::PluginInfo info;
  {
    grpc::ClientContext context;
    REQUIRE(stub->GetInfo(&context, {}, &info).ok());
  }
  CHECK(info.type() == "DRAPlugin");
  CHECK(info.name() == "vfrail.io");
  CHECK(info.endpoint() == dra.plugin_socket());
  CHECK(Texts(info.supported_versions().begin(), info.supported_versions().end()) ==
        Texts{"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"});
  CHECK((mode_of(dra.node.path("kubelet/plugins/vfrail.io"))) == 0750);
  CHECK(mode_of(dra.plugin_socket()) == 0600);
  REQUIRE(dra.publisher->status().size() == 1);
  CHECK(dra.publisher->status().front().serving);
  CHECK_FALSE(dra.publisher->status().front().registered);
  pluginregistration::RegistrationStatus status;
  status.set_plugin_registered(true);
  pluginregistration::RegistrationStatusResponse nothing;
  {
    grpc::ClientContext context;
    REQUIRE(stub->NotifyRegistrationStatus(&context, status, &nothing).ok());
  }
  dra.publisher->run_due(dra.now());
  CHECK(dra.publisher->status().front().registered);
}

TEST_CASE("a socket that is lost is made again, and at the end ours are removed") {
  DraNode dra;
  dra.api.put(kUid, kNic);
  const auto both = [&] { return fs::exists(dra.plugin_socket()) && fs::exists(dra.registration_socket()); };
  REQUIRE(both());
  const auto later = dra.now() + std::chrono::seconds{10};
  SECTION("that of the plugin") { fs::remove(dra.plugin_socket()); }
  SECTION("that of the registration") { fs::remove(dra.registration_socket()); }
  SECTION("with its folder") { fs::remove_all(dra.node.path("kubelet/plugins")); }
  dra.publisher->run_due(later);
  dra.publisher->run_due(later + std::chrono::seconds{10});
  CHECK(both());
  CHECK(dra.prepare({kUid}).claims().at(kUid).error().empty());
  dra.publisher->close(std::chrono::milliseconds{0});
  CHECK_FALSE(fs::exists(dra.plugin_socket()));
  CHECK_FALSE(fs::exists(dra.registration_socket()));
}

TEST_CASE("a driver that kubelet refuses is registered again by a new socket") {
  DraNode dra;
  const auto inode = identify(dra.registration_socket());
  pluginregistration::RegistrationStatus status;
  status.set_error("no such version");
  pluginregistration::RegistrationStatusResponse nothing;
  grpc::ClientContext context;
  const auto stub = pluginregistration::Registration::NewStub(dra.channel(dra.registration_socket()));
  REQUIRE(stub->NotifyRegistrationStatus(&context, status, &nothing).ok());
  const auto later = dra.now() + std::chrono::seconds{10};
  dra.publisher->run_due(later);
  CHECK(dra.publisher->status().front().trouble == "no such version");
  dra.publisher->run_due(later + std::chrono::seconds{10});
  CHECK(identify(dra.registration_socket()).exists());
  CHECK_FALSE(identify(dra.registration_socket()) == inode);
}

TEST_CASE("a successor with the same sockets is left alone, and succeeded when it goes") {
  DraNode dra;
  DraPublisher successor(dra.options(), dra.api, dra.log);
  REQUIRE(successor.start([] {}));
  successor.follow({PublishedPool(dra.pool)}, dra.now());
  successor.run_due(dra.now());
  const auto theirs = identify(dra.plugin_socket());
  const auto later = dra.now() + std::chrono::seconds{10};
  dra.publisher->run_due(later);
  CHECK_FALSE(dra.publisher->status().front().serving);
  CHECK(has(dra.publisher->status().front().trouble, "dra.sock belongs to "));
  CHECK(identify(dra.plugin_socket()) == theirs);
  successor.close(std::chrono::milliseconds{0});
  dra.publisher->run_due(later + std::chrono::seconds{10});
  CHECK(dra.publisher->status().front().serving);
}

TEST_CASE("a device whose RDMA nodes are just coming back is waited for") {
  DraNode dra;
  dra.api.put(kUid, kNic);
  const std::string rdma = dra.node.root() + "/sys/bus/pci/devices/0000:21:10.0/infiniband";
  fs::rename(rdma, rdma + ".away");
  SECTION("it comes") {
    std::thread kernel([&] {
      (void)eventually([&] { return dra.api.calls() > 0; });
      fs::rename(rdma + ".away", rdma);
    });
    CHECK(dra.prepare({kUid}).claims().at(kUid).error().empty());
    kernel.join();
  }
  SECTION("it does not") {
    const std::string error = dra.refusal();
    CHECK(has(error, "0000:21:10.0: its RDMA device is not in the host's RDMA namespace"));
    CHECK(has(error, "[VF-DEVICE-NOT-IN-HOST]"));
    CHECK(dra.specs().empty());
  }
}

TEST_CASE("two instances have sockets of their own, and a path that is too long is named") {
  DraNode dra;
  dra.publisher.reset();
  dra.instance = "1f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11";
  auto sockets = find_dra_sockets("/var/lib/kubelet", "vfrail.io", dra.instance);
  REQUIRE(sockets);
  CHECK(sockets->plugin == "/var/lib/kubelet/plugins/vfrail.io/dra-" + dra.instance + ".sock");
  CHECK(sockets->registration == "/var/lib/kubelet/plugins_registry/vfrail.io-" + dra.instance + "-reg.sock");
  const std::string long_root = "/" + std::string(90, 'a');
  sockets = find_dra_sockets(long_root, "vfrail.io", "");
  REQUIRE_FALSE(sockets);
  CHECK(sockets.error().code == Errc::invalid);
  CHECK(has(sockets.error().text, "the socket " + long_root + "/plugins/vfrail.io/dra.sock has"));
  CHECK_FALSE(find_dra_sockets("/var/lib/kubelet", "../x", ""));
}

TEST_CASE("a claim's health is reported at once, again as it stays, and with the fault when it changes") {
  DraNode dra;
  const auto check = [&]<class Api>(Api) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    const auto stub = Api::Service::NewStub(dra.channel(dra.plugin_socket()));
    const auto stream = stub->NodeWatchResources(&context, {});
    typename Api::Response list;
    REQUIRE(stream->Read(&list));
    REQUIRE(list.devices_size() == 8);
    const auto& first = list.devices(0);
    CHECK(first.device().pool_name() == "node-1");
    CHECK(first.device().device_name() == "0000-21-10-0");
    CHECK(first.health() == Api::kHealthy);
    CHECK(first.last_updated_time() > 0);
    CHECK(first.health_check_timeout_seconds() == 30);
    dra.publisher->run_due(dra.now() + std::chrono::minutes{1});
    REQUIRE(stream->Read(&list));
    CHECK(list.devices_size() == 8);
    Pool sick = dra.pool;
    sick.devices.front().fault = {FaultCode::port_down, "its port is DOWN: " + std::string(2000, 'x')};
    dra.publisher->follow({PublishedPool(sick)}, dra.now());
    do REQUIRE(stream->Read(&list));
    while (list.devices(0).health() != Api::kUnhealthy);
    CHECK(list.devices(0).message().size() == kMaxHealthText);
    CHECK(list.devices(0).message().starts_with("its port is DOWN"));
    CHECK(list.devices(1).health() == Api::kHealthy);
    context.TryCancel();
  };
  SECTION("v1") { check(DraHealthV1()); }
  SECTION("v1alpha1") { check(DraHealthV1Alpha1()); }
}

TEST_CASE("a text is cut between characters") {
  CHECK(cut_text("abc", 3) == "abc");
  CHECK(cut_text("ab\xc3\xa4", 3) == "ab");
  CHECK(cut_text("abcd", 3) == "abc");
}

}  // namespace vfrail::test
