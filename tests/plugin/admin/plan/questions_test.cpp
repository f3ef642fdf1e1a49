// The six questions that the administrator of the A100 nodes asked of the documentation of twenty ways to
// deploy, and found no answer to: each is answered by what vfrail prints on that node.
#include "plugin/admin/advise/compare.h"
#include "plugin/admin/advise/example.h"
#include "plugin/admin/doctor/explain_id.h"
#include "plugin/admin/plan/plan_command.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"

#include <cstdlib>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

// Texts without the line ends that a terminal's width puts in.
std::string on_one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != '\n' && c != ' ') out += c;
    if ((c == '\n' || c == ' ') && !out.empty() && out.back() != ' ') out += ' ';
  }
  return out;
}

struct Answers {
  Tree tree{"a100_bond"};
  std::string plan_text;

  Answers() {
    plan_text = on_one_line(test::run([&] { return plan({.roots = {tree.root()}}); }).out);
  }
  bool plan_says(const std::string& part) const { return plan_text.find(part) != std::string::npos; }
  // Of the configuration that the plan prints, with the command that it prints.
  std::string example() const {
    const std::string title = "Configuration of the recommended way\n";
    const std::string all = test::run([&] { return plan({.roots = {tree.root()}}); }).out;
    const size_t begin = all.find(title) + title.size();
    const auto config = parse_config(all.substr(begin, all.find("\nNext\n") - begin), {.file = "plan.json"});
    if (!config) FAIL(config.error().text);
    CHECK(plan_says("vfrail plan --root " + tree.root() + " -o config > config.json"));
    CHECK(plan_says("--resource rdma/ib_200g_shared --gpus 2"));
    const Inventory inventory = tree.scan();
    const auto text =
        make_example(*config, {.resource = "rdma/ib_200g_shared", .kind = "pod", .gpus = 2}, &inventory);
    if (!text) FAIL(text.error().text);
    return on_one_line(*text);
  }
};

bool answers(const std::string& text, const std::string& part) {
  INFO(text << "\nlacks: " << part);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the six questions of an administrator are answered on his node") {
  const Answers node;
  SECTION("1. How do these ways of deployment differ in performance?") {
    answers(node.plan_text,
            "every way with RDMA uses the card's own path, so a pod that is alone is as fast in each");
    answers(node.plan_text, "a pod that is alone has all of a port's 200 Gb/s");
    answers(node.plan_text,
            "Pods that share a device or a port divide it: shared devices without any order, VFs by the "
            "card's scheduler");
    // What he compared RDMA with.
    answers(node.plan_text, "TCP goes through the kernel, over IPoIB or macvlan too: no RDMA");
  }
  SECTION("2. How do I choose the way that suits me?") {
    answers(node.plan_text, "Recommended: shared device. Why: nothing has to be changed on the node");
    answers(node.plan_text, "Later: VFs when pods of several tenants share the node");
    // What he did not know: whether the bond can be used this way.
    answers(node.plan_text,
            "0000:18:00.0 (eno1, mlx5_bond_0): the host uses it: part of bond0 (a bond), which carries the "
            "IPv4 default route");
  }
  SECTION("3. After the deployment, how does a pod get RDMA?") {
    const std::string pod = node.example();
    answers(pod, "limits: nvidia.com/gpu: 2 rdma/ib_200g_shared: 1");
    answers(pod, "No network: the devices stay in the host, and the pod has their device nodes");
    CHECK(pod.find("k8s.v1.cni.cncf.io/networks") == std::string::npos);
  }
  SECTION("4. What is the least that a container needs to test RDMA?") {
    const std::string pod = node.example();
    answers(
        pod,
        "Least of the image: libibverbs1 and ibverbs-providers (Debian's names); perftest for ib_write_bw");
    answers(pod,
            "IPC_LOCK lifts the limit of pinned memory for a container that runs as root, and for no other");
    answers(pod, "securityContext: runAsUser: 0 capabilities: add: - IPC_LOCK");
  }
  SECTION("5. How do I test the RDMA network in a container?") {
    const std::string pod = node.example();
    answers(pod, "kubectl exec POD_A -- vfrail-check --listen");
    answers(pod, "kubectl exec POD_B -- vfrail-check --to ADDRESS");
    // mlx5_0, which ib_write_bw would take by itself, is down.
    answers(pod, "ib_write_bw -d mlx5_1 --report_gbits -F");
    answers(pod, "The result is near the speed of the port that vfrail plan shows");
    answers(node.plan_text, "0000:b2:00.0 (ibp178s0, mlx5_1) ACTIVE 200 Gb/s");
  }
  SECTION("6. What are the usual errors, and what to do?") {
    answers(node.plan_text,
            "\"Port number 1 state is Down\" cause: -d mlx5_0 on this node: its port is DOWN, Disabled "
            "remedy: name another device with -d, or mend the port: it is switched off on this node: ip link "
            "set ibp75s0 up");
    answers(node.plan_text, "\"IB device mlx5_bond_0 not found\"");
    answers(node.plan_text,
            "\"Couldn't allocate MR; unhandled system error; SIGSEGV...ncclProxyServiceUDS\" cause: "
            "the container may not pin the memory");
    answers(node.plan_text, "A memory limit of the pod is not the cause");
    const test::Run explained = test::run([] { return explain({.id = "VF-PORT-DOWN", .json = false}); });
    CHECK(explained.code == 0);
    answers(explained.out, "VF-PORT-DOWN");
  }
}

TEST_CASE("his resource with four devices: two of them are the ports that carry the node") {
  const Tree tree("a100_bond");
  const Inventory inventory = tree.scan();
  const auto documents = read_documents(
      R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev","selectors":{"vendors":["15b3"],"isRdma":true}}]})",
      "config.json");
  REQUIRE(documents);
  const auto text =
      compare({.from = "sriov-device-plugin", .file = "config.json", .resource_prefix = "intel.com"},
              *documents, {inventory, false});
  REQUIRE(text);
  answers(*text, "selects 0000:18:00.0 0000:4b:00.0 0000:b2:00.0");
  answers(*text, "perhaps 0000:18:00.1");
  answers(*text, "vfrail selects 0000:4b:00.0 0000:b2:00.0");
}

TEST_CASE("a pod of a resource with memlock needs neither root nor a capability") {
  const auto config =
      parse_config(R"({"resourceList":[{"resourceName":"x","memlock":true,"selectors":{"isRdma":true}}]})",
                   {.file = "c.json"});
  REQUIRE(config);
  const auto text = make_example(*config, {.resource = "intel.com/x", .kind = "pod"});
  REQUIRE(text);
  CHECK(text->find("securityContext") == std::string::npos);
  CHECK(text->find("IPC_LOCK") == std::string::npos);
  CHECK(text->find("the resource's memlock lifts the limit") != std::string::npos);
}

TEST_CASE("pods of the eRDMA configuration as its users have it are in the host's network") {
  const auto config = parse_config(R"({"mode":"hca","deviceType":"eRDMA"})", {.file = "c.json"});
  REQUIRE(config);
  const auto text = make_example(*config, {.resource = "rdma/hca", .kind = "pod"});
  REQUIRE(text);
  CHECK(text->find("hostNetwork: true") != std::string::npos);
}
