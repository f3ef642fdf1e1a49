// `vfrail example` and the examples written by hand: the same objects, with the same parts of pods. That what
// is generated fits together is what manifests_test.cpp checks of all documents.
#include "plugin/admin/advise/example.h"

#include "plugin/admin/advise/jobs.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/manifests/documents.h"
#include "tests/support/places.h"
#include "tests/support/shell.h"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

const char* const kConfig = R"({"resourceList":[
  {"resourcePrefix":"nvidia.com","resourceName":"hostdev","selectors":{"vendors":["15b3"],"isRdma":true}},
  {"resourcePrefix":"rdma","resourceName":"ib_pf","selectors":{"linkTypes":["infiniband"],"isPf":true,"isRdma":true}}],
  "configList":[
  {"resourceName":"roce","rdmaHcaMax":8,"selectors":{"linkTypes":["ether"]}},
  {"resourceName":"ib","rdmaHcaMax":8,"selectors":{"linkTypes":["infiniband"]}}]})";

Result<std::string> example_of(const ExampleRequest& request) {
  const auto config = parse_config(kConfig, {.file = "config.json"});
  REQUIRE(config);
  return make_example(*config, request);
}

std::string text_of(const ExampleRequest& request) {
  const auto text = example_of(request);
  if (!text) FAIL(text.error().text);
  return *text;
}

std::vector<Document> documents_in(const std::string& text) {
  std::vector<Document> out;
  for (const YAML::Node& node : YAML::LoadAll(text)) out.push_back({"generated", node});
  return out;
}

// Of jobs alone: "batch.volcano.sh/v1alpha1 Job".
std::vector<std::string> objects_of(const std::vector<Document>& documents) {
  std::vector<std::string> out;
  for (const Document& one : documents) {
    if (one.kind() != "NetworkAttachmentDefinition") out.push_back(one.text("apiVersion") + " " + one.kind());
  }
  return out;
}

// Where in the job the templates are, whatever it is called: ".spec.tasks.template".
std::vector<std::string> places_of(const std::vector<PodTemplate>& pods) {
  std::vector<std::string> out;
  for (const PodTemplate& pod : pods) {
    const size_t at = pod.where.find(".spec.");
    out.push_back(at == std::string::npos ? "" : pod.where.substr(at));
  }
  return out;
}

// What RDMA needs of the containers with devices: the security context but for the user, which the images of
// the examples set themselves, and where memory is mounted.
std::set<std::string> needs_of(const std::vector<PodTemplate>& pods) {
  std::set<std::string> out;
  for (const PodTemplate& pod : pods) {
    if (pod.devices().empty()) continue;
    if (below(pod.annotations, {kNetworksAnnotation}).IsDefined()) out.insert("annotation");
    for (const YAML::Node& container : pod.containers()) {
      for (const auto& one : below(container, {"securityContext", "capabilities", "add"}))
        out.insert(one.as<std::string>());
      for (const auto& mount : container["volumeMounts"]) {
        if (mount["mountPath"].as<std::string>() == "/dev/shm") out.insert("/dev/shm");
      }
      for (const auto& variable : container["env"]) {
        const auto name = variable["name"].as<std::string>();
        if (name == "NCCL_DEBUG") out.insert(name);
      }
    }
  }
  return out;
}

std::vector<Document> documents_of_file(const std::string& file) {
  std::vector<Document> out;
  for (const Document& one : documents()) {
    if (one.file == file) out.push_back(one);
  }
  return out;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("what is generated and what is written by hand are the same objects with the same parts") {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"pytorch-job", "examples/pytorch-job-rails.yaml"},
      {"train-job", "examples/trainjob.yaml"},
      {"leader-worker-set", "examples/leaderworkerset.yaml"},
      {"volcano-job", "examples/volcano-job.yaml"}};
  for (const auto& [kind, file] : pairs) {
    INFO(kind << " and " << file);
    const auto made = documents_in(text_of({.resource = "nvidia.com/hostdev", .kind = kind, .gpus = 8}));
    const auto written = documents_of_file(file);
    CHECK(objects_of(made) == objects_of(written));
    CHECK(places_of(pod_templates(made)) == places_of(pod_templates(written)));
    CHECK(needs_of(pod_templates(made)) == needs_of(pod_templates(written)));
  }
  // Its variables are arguments of mpirun.
  const auto mpi = documents_in(text_of({.resource = "nvidia.com/hostdev", .kind = "mpi-job", .gpus = 8}));
  const auto nccl = documents_of_file("examples/nccl-tests-job.yaml");
  CHECK(objects_of(mpi) == objects_of(nccl));
  CHECK(places_of(pod_templates(mpi)) == places_of(pod_templates(nccl)));
}

TEST_CASE("the manifests' tests see every kind for resources of every sort") {
  std::set<std::string> kinds;
  for (const Document& one : generated_documents()) kinds.insert(one.kind());
  for (const char* kind : {"Pod", "PyTorchJob", "TrainJob", "TrainingRuntime", "MPIJob", "RayCluster",
                           "LeaderWorkerSet", "Job", "NetworkAttachmentDefinition"})
    CHECK(kinds.contains(kind));
  CHECK(job_kinds().size() == 7);
}

TEST_CASE("a pod asks for a device for each network that is named") {
  const auto made = documents_in(
      text_of({.resource = "rdma/ib_pf", .kind = "pod", .gpus = 2, .networks = {"rail0", "team/rail1"}}));
  REQUIRE(made.size() == 1);  // the networks are there already
  const auto pods = pod_templates(made);
  REQUIRE(pods.size() == 1);
  CHECK(pods[0].devices() == std::map<std::string, int>{{"rdma/ib_pf", 2}, {"nvidia.com/gpu", 2}});
  CHECK(made[0].node["metadata"]["annotations"][kNetworksAnnotation].as<std::string>() == "rail0,team/rail1");
}

TEST_CASE("with --claim a pod has its devices by a template, each GPU with one below its root") {
  const auto made = documents_in(
      text_of({.resource = "nvidia.com/hostdev", .gpus = 2, .claim = true, .networks = {"a", "b"}}));
  REQUIRE(objects_of(made) == std::vector<std::string>{"resource.k8s.io/v1 ResourceClaimTemplate", "v1 Pod"});
  const YAML::Node devices = made[0].node["spec"]["spec"]["devices"];
  std::vector<std::string> requests;
  for (const auto& one : devices["requests"])
    requests.push_back(one["name"].as<std::string>() + " " +
                       one["exactly"]["deviceClassName"].as<std::string>());
  CHECK(requests == std::vector<std::string>{"gpu-0 gpu.nvidia.com", "nic-0 hostdev", "gpu-1 gpu.nvidia.com",
                                             "nic-1 hostdev"});
  REQUIRE(devices["constraints"].size() == 2);
  CHECK(devices["constraints"][1]["requests"].as<std::vector<std::string>>() ==
        std::vector<std::string>{"gpu-1", "nic-1"});
  const YAML::Node pod = made[1].node["spec"];
  CHECK(pod["resourceClaims"][0]["resourceClaimTemplateName"].as<std::string>() == made[0].name());
  CHECK_FALSE(below(pod["containers"][0], {"resources", "limits"}).IsDefined());
  CHECK(pod["containers"][0]["resources"]["claims"][0]["name"].as<std::string>() ==
        pod["resourceClaims"][0]["name"].as<std::string>());
}

TEST_CASE(
    "a claim has one request without GPUs, several GPUs of a device in one, and no pairs that do not come "
    "out even") {
  const auto devices = [](uint32_t gpus, const std::vector<std::string>& networks) {
    for (const Document& one : documents_in(text_of(
             {.resource = "nvidia.com/hostdev", .gpus = gpus, .claim = true, .networks = networks}))) {
      if (one.kind() == "ResourceClaimTemplate") return one.node["spec"]["spec"]["devices"];
    }
    FAIL("there is no ResourceClaimTemplate");
    return YAML::Node();
  };
  const YAML::Node none = devices(0, {"a", "b"});
  CHECK(none["requests"].size() == 1);
  CHECK(none["requests"][0]["exactly"]["count"].as<int>() == 2);
  CHECK_FALSE(none["constraints"].IsDefined());
  const YAML::Node two = devices(2, {"a"});
  CHECK(two["requests"].size() == 2);
  CHECK(two["requests"][0]["exactly"]["count"].as<int>() == 2);
  CHECK(two["constraints"].size() == 1);
  CHECK_FALSE(devices(3, {"a", "b"})["constraints"].IsDefined());
  // A device for each GPU where no node says otherwise.
  CHECK(devices(4, {})["constraints"].size() == 4);
}

TEST_CASE(
    "a claim is refused where devices are shared, several resources are named, or it would be too large") {
  for (const auto& [request, reason] : std::vector<std::pair<ExampleRequest, std::string>>{
           {{.resource = "rdma/ib", .claim = true},
            "devices that pods share, which stay with the device plugin"},
           {{.resource = "nvidia.com/*", .claim = true}, ""},
           {{.resource = "nvidia.com/hostdev", .gpus = 17, .claim = true},
            "are more than a ResourceClaim has (32)"}}) {
    const auto text = example_of(request);
    if (reason.empty()) {
      CHECK(text);  // a pattern that matches one
      continue;
    }
    REQUIRE_FALSE(text);
    INFO(text.error().text);
    CHECK(says(text.error().text, reason));
  }
}

TEST_CASE("without a network one is printed with the pod, whose address range is called a placeholder") {
  const std::string text = text_of({.resource = "rdma/ib_pf"});
  const auto made = documents_in(text);
  REQUIRE(made.size() == 2);
  CHECK(made[0].kind() == "NetworkAttachmentDefinition");
  CHECK(made[0].name() == "ib-pf");
  CHECK(made[0].node["metadata"]["annotations"][kResourceAnnotation].as<std::string>() == "rdma/ib_pf");
  CHECK(says(text, "192.168.100.0/24 is a placeholder"));
}

TEST_CASE("a shared resource needs no network; RoCE needs the host's, InfiniBand does not") {
  const std::string roce = text_of({.resource = "rdma/roce"});
  CHECK(documents_in(roce).front().node["spec"]["hostNetwork"].as<bool>());
  CHECK_FALSE(says(roce, "k8s.v1.cni.cncf.io/networks"));
  const std::string infiniband = text_of({.resource = "rdma/ib", .kind = "volcano-job", .gpus = 8});
  CHECK_FALSE(says(infiniband, "hostNetwork"));
  CHECK(says(infiniband, "NCCL_SOCKET_IFNAME"));
  // The host's interface has another name.
  CHECK_FALSE(says(text_of({.resource = "rdma/roce", .kind = "mpi-job", .gpus = 8}), "eth0"));
}

TEST_CASE("the text says what the image needs, how memory is pinned, and how to test it") {
  const std::string text = text_of({.resource = "rdma/ib"});
  for (const char* part : {"libibverbs1 and ibverbs-providers",
                           "IPC_LOCK lifts the limit of pinned memory for a container that runs as root",
                           "kubectl cp vfrail-check POD:/tmp/vfrail-check",
                           "kubectl exec POD_B -- /tmp/vfrail-check --to ADDRESS",
                           "ib_write_bw -d DEVICE --report_gbits -F", "DEVICE is one whose port is ACTIVE"})
    CHECK(says(text, part));
}

TEST_CASE("a resource with mountCheck is tested by vfrail-check") {
  const auto config =
      parse_config(R"({"resourceList":[{"resourceName":"x","mountCheck":true,"selectors":{"isRdma":true}}]})",
                   {.file = "config.json"});
  REQUIRE(config);
  for (const char* kind : {"pod", "volcano-job"}) {
    const auto text = make_example(*config, {.resource = "intel.com/x", .kind = kind});
    REQUIRE(text);
    CHECK(says(*text, "kubectl exec POD -- vfrail-check\n"));
  }
  const auto pod = make_example(*config, {.resource = "intel.com/x"});
  CHECK(says(*pod, "kubectl exec POD_A -- vfrail-check --listen\n"));
  CHECK(says(*pod, "kubectl exec POD_B -- vfrail-check --to ADDRESS\n"));
}

TEST_CASE("a pattern of resources: a unit of each rail, with a network and a range of its own") {
  const auto config = parse_config(R"({"resourceList":[
      {"resourcePrefix":"rdma","resourceName":"rail0","selectors":{"pciAddresses":["0000:18:00.0"],"isRdma":true}},
      {"resourcePrefix":"rdma","resourceName":"rail1","selectors":{"pciAddresses":["0000:40:00.0"],"isRdma":true}}],
      "configList":[{"resourceName":"rails","rdmaHcaMax":8,"selectors":{"linkTypes":["ether"]}}]})",
                                   {.file = "config.json"});
  REQUIRE(config);
  const auto text = make_example(*config, {.resource = "rdma/rail[01]*", .kind = "pod", .gpus = 8});
  REQUIRE(text);
  const auto made = documents_in(*text);
  REQUIRE(made.size() == 3);
  CHECK(made[2].node["metadata"]["annotations"][kNetworksAnnotation].as<std::string>() == "rail0,rail1");
  CHECK(pod_templates(made)[0].devices() ==
        std::map<std::string, int>{{"rdma/rail0", 1}, {"rdma/rail1", 1}, {"nvidia.com/gpu", 8}});
  CHECK(says(*text, "192.168.101.0/24"));
  // A unit of the shared one has several devices.
  const auto mixed = make_example(*config, {.resource = "rdma/rail*", .kind = "pod"});
  REQUIRE_FALSE(mixed);
  CHECK(says(mixed.error().text, "matches rdma/rails"));
  const auto few = make_example(*config, {.resource = "rdma/rail[01]*", .networks = {"one"}});
  REQUIRE_FALSE(few);
  CHECK(says(few.error().text, "--network names 1"));
}

TEST_CASE("without a node it is said that nobody knows how many devices belong to the GPUs") {
  const std::string text = text_of({.resource = "rdma/ib_pf", .kind = "mpi-job", .gpus = 8});
  CHECK(says(text, "How many devices belong to 8 GPUs is not known: --root"));
  CHECK_FALSE(says(text_of({.resource = "rdma/ib", .kind = "mpi-job", .gpus = 8}), "is not known: --root"));
}

TEST_CASE("what is not in the configuration is refused with what there is") {
  const auto wrong = example_of({.resource = "rdma/ib_pg"});
  REQUIRE_FALSE(wrong);
  CHECK(says(wrong.error().text, "--resource rdma/ib_pg is not in the configuration"));
  CHECK(says(wrong.error().text, "rdma/ib"));
  CHECK_FALSE(example_of({.resource = "rdma/ib", .kind = "tfjob"}));
}

TEST_CASE("vfrail example prints what the plan's configuration offers") {
  const std::string config = test::source_path("examples/configs/infiniband-a100-v100.json");
  const std::string command = "vfrail example --config-file " + config + " --resource ";
  const ShellOutcome job =
      run_in_shell(command + "rdma/rdma_a100 --gpus 4 --kind volcano-job --network ib-a100");
  INFO(job.output);
  CHECK(job.status == 0);
  const auto pods = pod_templates(documents_in(job.output));
  REQUIRE(pods.size() == 2);
  CHECK(pods[0].devices() == std::map<std::string, int>{{"rdma/rdma_a100", 1}, {"nvidia.com/gpu", 4}});
  CHECK(run_in_shell(command + "rdma/none").status == 2);
  CHECK(run_in_shell(command + "rdma/rdma_a100 --kind none").status == 2);
  CHECK(run_in_shell("vfrail example").status == 2);
}

}  // namespace vfrail::test
