// prepare_claim() on a node's tree: what is written for whom, again, and removed.
#include "plugin/dra/prepare_claim.h"

#include "common/container/cdi_spec.h"
#include "common/container/device_metadata.h"
#include "common/node/attachments.h"
#include "plugin/device/allocate/cdi_folder.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/tree.h"
#include "tests/support/write_attachment.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

const std::string kUid = "2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11";
const std::string kOther = "77777777-5b7d-4c0e-9b1a-0d3c8c0f7a22";

constexpr const char* kHostdev =
    R"({"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev", "selectors": {"isRdma": true}}]})";

struct ClaimsNode {
  test::Tree tree{"igb_node"};
  test::TempDir folder;
  AllocatePlaces places{.sys = tree.sys(),
                        .device_info_dir = folder.path("devinfo"),
                        .run_dir = folder.path("run"),
                        .cdi_dir = folder.path("cdi"),
                        .cni_state_dir = folder.path("cni")};

  ClaimsNode() { REQUIRE(open_cdi_folder(places.cdi_dir)); }

  // By the names of ResourceSlices: "0000-21-10-0".
  OfferedUnits offered(const char* text = kHostdev) const {
    const auto config = parse_config(text, {});
    REQUIRE(config);
    OfferedUnits out;
    for (Pool& pool : match(*config, tree.scan()).pools) {
      const PublishedPool published(std::move(pool));
      out.pools.push_back(published);
      for (const Unit& unit : published.units()) {
        std::string name = unit.id;
        std::replace_if(
            name.begin(), name.end(), [](char c) { return c == ':' || c == '.'; }, '-');
        out.by_name.emplace(name, OfferedUnit{published, unit.id});
      }
    }
    return out;
  }

  Result<std::vector<PreparedDevice>> prepare(const std::vector<ClaimedRequest>& requests,
                                              const std::string& uid = kUid) const {
    const Claim claim{.name = {"default", "gpu-and-nic", uid},
                      .pod = {"trainer-0", "77"},
                      .node_pool = "node-1",
                      .driver = "vfrail.io",
                      .pod_claim = "nics",
                      .requests = requests};
    return prepare_claim(claim, offered(), places);
  }

  std::set<std::string> files() const {
    std::set<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      if (entry.is_regular_file()) out.insert(entry.path().string());
    }
    return out;
  }

  std::optional<CdiSpec> spec(const std::string& file) const {
    auto read = read_cdi_spec(places.cdi_dir + "/" + file);
    REQUIRE(read);
    return *std::move(read);
  }
  // The device nodes that a container gets of a device.
  Texts nodes(const std::string& device) const {
    Texts out;
    const auto of_device = spec("vfrail-nvidia.com-net-pci-" + device + ".json");
    if (!of_device) return out;
    for (const DeviceNode& node : of_device->edits.nodes) out.push_back(node.host_path);
    return out;
  }
  // As after a boot, or another load of the driver.
  void renumber(const std::string& from, const std::string& to) const {
    const std::string verbs =
        tree.root() + "/sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/infiniband_verbs/";
    fs::rename(verbs + from, verbs + to);
  }
  void attach(const std::string& device) const {
    Record record;
    record.attachment = {"c1", "net1"};
    record.network = "rail0";
    record.device_key = device;
    record.device = *DeviceId::parse(device);
    record.netns = "/var/run/netns/c1";
    record.config = R"({"type":"vfrail"})";
    record.cni_args = "K8S_POD_NAMESPACE=demo;K8S_POD_NAME=trainer-0";
    test::write_attachment(Attachments(places.cni_state_dir), record);
  }
};

const std::vector<ClaimedRequest> kOne{{"nic", {"0000-21-10-0"}}};

// As an older version reads it, without a driver.
Claim one_device() {
  return {.name = {"default", "gpu-and-nic", kUid},
          .pod = {"trainer-0", "77"},
          .node_pool = "node-1",
          .requests = kOne};
}

bool says(const Error& error, std::string_view text) {
  UNSCOPED_INFO(error.text);
  return error.text.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("each request of a claim has a CDI device of its own beside those of its devices") {
  const ClaimsNode node;
  const auto out = node.prepare({{"nic", {"0000-21-10-2", "0000-21-10-0"}}, {"rail/vf", {"0000-41-10-0"}}});
  REQUIRE(out);
  CHECK(*out == std::vector<PreparedDevice>{
                    {"nic",
                     "node-1",
                     "0000-21-10-2",
                     {"vfrail.io/claim=" + kUid + "-nic", "nvidia.com/net-pci=0000:21:10.2"}},
                    {"nic", "node-1", "0000-21-10-0", {"nvidia.com/net-pci=0000:21:10.0"}},
                    {"rail/vf",
                     "node-1",
                     "0000-41-10-0",
                     {"vfrail.io/claim=" + kUid + "-rail_vf", "nvidia.com/net-pci=0000:41:10.0"}}});
  const auto nic = node.spec("vfrail-vfrail.io-claim-" + kUid + "-nic.json");
  REQUIRE(nic);
  CHECK(nic->edits.env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:21:10.2,0000:21:10.0");
  const auto rail = node.spec("vfrail-vfrail.io-claim-" + kUid + "-rail_vf.json");
  REQUIRE(rail);
  CHECK(rail->edits.env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:41:10.0");
  CHECK(rail->edits.env.contains("PCIDEVICE_NVIDIA_COM_HOSTDEV_INFO"));
}

TEST_CASE(
    "where vfrail-cni finds claims by itself they have a hook that stops containers without the devices") {
  const ClaimsNode node;
  Claim claim = one_device();
  const auto hooks = [&] { return node.spec("vfrail-vfrail.io-claim-" + kUid + "-nic.json")->edits.hooks; };
  REQUIRE(prepare_claim(claim, node.offered(), node.places));
  CHECK(hooks().empty());
  REQUIRE(unprepare_claim(kUid, node.places));
  claim.is_chained = true;
  REQUIRE(prepare_claim(claim, node.offered(), node.places));
  REQUIRE(hooks().size() == 1);
  CHECK(hooks().front().path == "/opt/cni/bin/vfrail");
  CHECK(hooks().front().args == Texts{"vfrail", "hook", "claim", kUid});
  REQUIRE(prepare_claim(claim, node.offered(), node.places));
  CHECK(hooks().size() == 1);
}

TEST_CASE("two requests of one resource have a variable each, whichever of them a container has") {
  const ClaimsNode node;
  REQUIRE(node.prepare({{"nic-a", {"0000-21-10-2", "0000-21-10-0"}}, {"nic-b/vf", {"0000-41-10-0"}}}));
  const auto a = node.spec("vfrail-vfrail.io-claim-" + kUid + "-nic-a.json");
  const auto b = node.spec("vfrail-vfrail.io-claim-" + kUid + "-nic-b_vf.json");
  REQUIRE(a);
  REQUIRE(b);
  CHECK(a->edits.env.at("VFRAIL_REQUEST_NIC_A") == "0000:21:10.2,0000:21:10.0");
  CHECK(b->edits.env.at("VFRAIL_REQUEST_NIC_B") == "0000:41:10.0");
  CHECK(a->edits.env.count("VFRAIL_REQUEST_NIC_B") == 0);
  CHECK(b->edits.env.count("VFRAIL_REQUEST_NIC_A") == 0);
}

TEST_CASE("a container finds what the devices of each request are in a file, until the claim is unprepared") {
  const ClaimsNode node;
  const std::vector<ClaimedRequest> requests{{"nic", {"0000-21-10-2", "0000-21-10-0"}},
                                             {"rail/vf", {"0000-41-10-0"}}};
  REQUIRE(node.prepare(requests));
  const auto mounts = [&](const std::string& request) {
    return node.spec("vfrail-vfrail.io-claim-" + kUid + "-" + request + ".json")->edits.mounts;
  };
  const std::string file = node.places.run_dir + "/claims/metadata/" + kUid + "-0.json";
  const std::string folder = "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nics";
  CHECK(mounts("nic") == std::vector<Mount>{{file, folder + "/nic/vfrail.io-metadata.json", true}});
  CHECK(mounts("rail_vf").at(0).container_path == folder + "/rail/vfrail.io-metadata.json");
  const auto text = *read_file(file, size_t{1} << 20);
  REQUIRE(text);
  CHECK(text->starts_with(R"({"kind":"DeviceMetadata","apiVersion":"metadata.resource.k8s.io/v1beta1",)"
                          R"("metadata":{"name":"gpu-and-nic","namespace":"default","uid":")" +
                          kUid +
                          R"(","generation":1},"podClaimName":"nics","requests":[{"name":"nic",)"
                          R"("devices":[{"driver":"vfrail.io","pool":"node-1","name":"0000-21-10-2",)"));
  CHECK(text->find("\n{\"kind\":\"DeviceMetadata\",\"apiVersion\":\"metadata.resource.k8s.io/v1alpha1\"") !=
        std::string::npos);
  const auto metadata = parse_metadata(*text);
  REQUIRE(metadata);
  REQUIRE(metadata->devices.size() == 2);
  CHECK(*metadata->devices[1].attributes.find("resource.kubernetes.io/pciBusID")->find("string") ==
        Json("0000:21:10.0"));
  // What vfrail-cni has added stays when kubelet asks again.
  const auto record = *find_prepared_claim(kUid, node.places);
  REQUIRE(add_network_data(node.places.run_dir, *record, 0, "0000-21-10-0",
                           Json::object().set("interfaceName", "net1")));
  REQUIRE(node.prepare(requests));
  const auto added = parse_metadata(**read_file(file, size_t{1} << 20));
  REQUIRE(added);
  CHECK(added->generation == 2);
  CHECK(added->devices[0].network.is_null());
  CHECK(*added->devices[1].network.find("interfaceName") == Json("net1"));
  CHECK(added->devices[1].attributes == metadata->devices[1].attributes);
  REQUIRE(unprepare_claim(kUid, node.places));
  CHECK(fs::is_empty(node.places.run_dir + "/claims/metadata"));
}

TEST_CASE(
    "a claim that the pod references directly has its metadata by the claim's name; of an older record there "
    "is none") {
  const ClaimsNode node;
  Claim claim = one_device();
  claim.driver = "vfrail.io";
  const auto mounts = [&] { return node.spec("vfrail-vfrail.io-claim-" + kUid + "-nic.json")->edits.mounts; };
  REQUIRE(prepare_claim(claim, node.offered(), node.places));
  CHECK(
      mounts().at(0).container_path ==
      "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/gpu-and-nic/nic/vfrail.io-metadata.json");
  REQUIRE(unprepare_claim(kUid, node.places));
  claim.driver.clear();
  REQUIRE(prepare_claim(claim, node.offered(), node.places));
  CHECK(mounts().empty());
}

TEST_CASE("a pod with extended resources has the variables that the device plugin gives, and no others") {
  const ClaimsNode node;
  Claim claim{
      .name = {"default", "trainer-0-extended-resources-x", kUid},
      .pod = {"trainer-0", "77"},
      .node_pool = "node-1",
      .driver = "vfrail.io",
      .requests = {{"container-0-request-0", {"0000-21-10-0"}}, {"container-1-request-0", {"0000-41-10-0"}}},
      .for_extended_resource = true};
  REQUIRE(prepare_claim(claim, node.offered(), node.places));
  const auto record = find_prepared_claim(kUid, node.places);
  REQUIRE(record);
  REQUIRE(*record);
  CHECK((*record)->for_extended_resource);
  REQUIRE(prepare_again(**record, node.offered(), node.places));
  for (const char* request : {"container-0-request-0", "container-1-request-0"}) {
    const auto spec = node.spec("vfrail-vfrail.io-claim-" + kUid + "-" + request + ".json");
    REQUIRE(spec);
    for (const auto& [name, value] : spec->edits.env) CHECK(name.starts_with("PCIDEVICE_NVIDIA_COM_HOSTDEV"));
    CHECK(spec->edits.mounts.empty());
  }
}

TEST_CASE("what a claim has is removed with it, and nothing of another's") {
  const ClaimsNode node;
  REQUIRE(node.prepare({{"nic", {"0000-41-10-0"}}}, kOther));
  const auto before = node.files();
  REQUIRE(node.prepare(kOne));
  CHECK(node.files() != before);
  REQUIRE(unprepare_claim(kUid, node.places));
  CHECK(node.files() == before);
  REQUIRE(unprepare_claim(kUid, node.places));
  REQUIRE(unprepare_claim("never-seen", node.places));
  CHECK_FALSE(unprepare_claim("../../etc", node.places));
  CHECK(node.files() == before);
}

TEST_CASE("a claim with nothing of ours leaves nothing on the node") {
  const ClaimsNode node;
  const auto out = node.prepare({});
  REQUIRE(out);
  CHECK(out->empty());
  CHECK(node.files().empty());
}

TEST_CASE("a claim that is prepared again has the same answer, and its specs are there with today's nodes") {
  ClaimsNode node;
  const auto first = node.prepare(kOne);
  REQUIRE(first);
  const auto all = node.files();
  const auto record = find_prepared_claim(kUid, node.places);
  REQUIRE(record);
  REQUIRE(*record);
  SECTION("the folder was emptied, and the device nodes have other numbers") {
    fs::remove_all(node.places.cdi_dir);
    REQUIRE(open_cdi_folder(node.places.cdi_dir));
    node.renumber("uverbs0", "uverbs70");
    const auto again = prepare_again(**record, node.offered(), node.places);
    REQUIRE(again);
    CHECK(*again == *first);
    CHECK(node.files() == all);
    CHECK(node.nodes("0000:21:10.0").at(1) == "/dev/infiniband/uverbs70");
  }
  SECTION("a file that is right is not written over: vfrail-cni may be about to correct it") {
    const std::string spec = node.places.cdi_dir + "/vfrail-nvidia.com-net-pci-0000:21:10.0.json";
    fs::create_hard_link(spec, node.folder.path("second"));
    REQUIRE(node.prepare(kOne));
    CHECK(fs::hard_link_count(spec) == 2);
  }
  SECTION("after a boot without records it is prepared anew") {
    fs::remove_all(node.places.run_dir);
    fs::remove_all(node.places.cdi_dir);
    REQUIRE(open_cdi_folder(node.places.cdi_dir));
    node.renumber("uverbs0", "uverbs70");
    const auto again = node.prepare(kOne);
    REQUIRE(again);
    CHECK(*again == *first);
    CHECK(node.nodes("0000:21:10.0").at(1) == "/dev/infiniband/uverbs70");
  }
}

TEST_CASE("a claim whose device is in the pod keeps its file as vfrail-cni has written it") {
  ClaimsNode node;
  const auto first = node.prepare(kOne);
  REQUIRE(first);
  const OfferedUnits offered = node.offered();
  const auto record = find_prepared_claim(kUid, node.places);
  REQUIRE(record);
  const std::string spec = node.places.cdi_dir + "/vfrail-nvidia.com-net-pci-0000:21:10.0.json";
  SECTION("by vfrail-cni's record") { node.attach("0000:21:10.0"); }
  SECTION("by the RDMA device that is not in the host") { node.tree.move_to_pod("0000:21:10.0"); }
  auto corrected = *node.spec("vfrail-nvidia.com-net-pci-0000:21:10.0.json");
  replace_rdma_nodes(corrected, {"uverbs99"});
  REQUIRE(write_cdi_spec(spec, spec + ".new", corrected));
  const auto again = prepare_again(**record, offered, node.places);
  REQUIRE(again);
  CHECK(*again == *first);
  CHECK(node.nodes("0000:21:10.0").front() == "/dev/infiniband/uverbs99");
  fs::remove(spec);
  const auto lost = prepare_again(**record, offered, node.places);
  REQUIRE_FALSE(lost);
  CHECK(says(lost.error(),
             spec + " is missing, and cannot be written anew while device 0000:21:10.0 is in the pod"));
}

TEST_CASE("a claim of a resource that is not configured any more is answered while its files are there") {
  const ClaimsNode node;
  const auto first = node.prepare(kOne);
  REQUIRE(first);
  const auto record = find_prepared_claim(kUid, node.places);
  REQUIRE(record);
  const auto again = prepare_again(**record, {}, node.places);
  REQUIRE(again);
  CHECK(*again == *first);
  fs::remove(node.places.cdi_dir + "/vfrail-vfrail.io-claim-" + kUid + "-nic.json");
  const auto lost = prepare_again(**record, {}, node.places);
  REQUIRE_FALSE(lost);
  CHECK(says(lost.error(), "does not offer the devices of claim default/gpu-and-nic of pod trainer-0 now"));
}

TEST_CASE("a prepare that was killed is prepared anew, or undone") {
  const ClaimsNode node;
  const auto before = node.files();
  const auto first = node.prepare(kOne);
  REQUIRE(first);
  const auto all = node.files();
  if (GENERATE(true, false)) {  // between the records
    REQUIRE(release(kUid, node.places));
  } else {  // before it was complete
    auto prepared = read_prepared(node.places.run_dir, kUid);
    REQUIRE(prepared);
    (*prepared)->edits.reset();
    REQUIRE(write_prepared(node.places.run_dir, **prepared));
    fs::remove((*prepared)->files.paths.back());
  }
  CHECK_FALSE(*find_prepared_claim(kUid, node.places));
  SECTION("anew") {
    const auto again = node.prepare(kOne);
    REQUIRE(again);
    CHECK(*again == *first);
    CHECK(node.files() == all);
  }
  REQUIRE(unprepare_claim(kUid, node.places));
  CHECK(node.files() == before);
}

TEST_CASE("a prepare that fails leaves nothing of the claim") {
  ClaimsNode node;
  const auto before = node.files();
  SECTION("a device that the node does not offer") {
    const auto out = node.prepare({{"nic", {"0000-21-10-0"}}, {"rail", {"0000-99-00-0"}}});
    REQUIRE_FALSE(out);
    CHECK(says(out.error(),
               "prepare claim default/gpu-and-nic: request rail has device 0000-99-00-0, which this node "
               "does not offer now"));
  }
  SECTION("a spec of the claim that cannot be written") {
    const std::string spec = node.places.cdi_dir + "/vfrail-vfrail.io-claim-" + kUid + "-nic.json";
    fs::create_directories(spec + "/x");
    const auto out = node.prepare(kOne);
    REQUIRE_FALSE(out);
    CHECK(says(out.error(), "write the CDI spec of request nic"));
    fs::remove_all(spec);
    REQUIRE(unprepare_claim(kUid, node.places));
  }
  SECTION("a device that is returning from a pod") {
    const OfferedUnits offered = node.offered();
    node.tree.move_to_pod("0000:21:10.0");
    const Claim claim{
        .name = {"default", "c", kUid}, .pod = {"p", "1"}, .node_pool = "node-1", .requests = kOne};
    const auto out = prepare_claim(claim, offered, node.places);
    REQUIRE_FALSE(out);
    CHECK(out.error().code == Errc::not_yet);
  }
  SECTION("no CDI folder") {
    node.places.cdi_dir.clear();
    const auto out = node.prepare(kOne);
    REQUIRE_FALSE(out);
    CHECK(out.error().code == Errc::unsupported);
    CHECK(says(out.error(), "devices of claims go by CDI alone"));
  }
  CHECK(node.files() == before);
}

TEST_CASE("a device that is prepared for another claim is refused, and stays as it is") {
  const ClaimsNode node;
  REQUIRE(node.prepare(kOne, kOther));
  const auto before = node.files();
  const auto out = node.prepare({{"nic", {"0000-41-10-0", "0000-21-10-0"}}});
  REQUIRE_FALSE(out);
  CHECK(out.error().code == Errc::busy);
  CHECK(says(out.error(), "device 0000-21-10-0 is prepared for claim default/gpu-and-nic of pod trainer-0"));
  CHECK(node.files() == before);
}

TEST_CASE("a claim is not unprepared while its device is in a pod's network namespace") {
  const ClaimsNode node;
  REQUIRE(node.prepare(kOne));
  const auto before = node.files();
  node.attach("0000:21:10.0");
  const auto out = unprepare_claim(kUid, node.places);
  REQUIRE_FALSE(out);
  CHECK(out.error().code == Errc::busy);
  CHECK(says(
      out.error(),
      "device 0000:21:10.0 of claim default/gpu-and-nic is still attached as net1 of pod demo/trainer-0, "
      "network rail0, in network namespace /var/run/netns/c1: vfrail-cni's DEL has to return it first"));
  SECTION("when it has returned it is") { fs::remove_all(node.places.cni_state_dir); }
  SECTION("an attachment of an earlier boot does not count") {
    fs::create_directories(node.tree.root() + "/proc/sys/kernel/random");
    std::ofstream(node.tree.root() + "/proc/sys/kernel/random/boot_id") << "another\n";
  }
  const auto now = node.files();
  CHECK(std::includes(now.begin(), now.end(), before.begin(), before.end()));
  REQUIRE(unprepare_claim(kUid, node.places));
}
