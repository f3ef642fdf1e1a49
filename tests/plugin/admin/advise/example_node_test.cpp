// What the node of a pod decides of an example: how many devices belong to its GPUs, and which network it
// needs.
#include "plugin/admin/advise/example.h"
#include "plugin/admin/advise/example_command.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

const char* const kWhole =
    R"({"resourceList":[{"resourcePrefix":"rdma","resourceName":"pf","selectors":{"devices":["1021"],"isPf":true,"isRdma":true}}]})";

std::string example_on(const char* tree, const std::string& config_text, const ExampleRequest& request) {
  const auto config = parse_config(config_text, {.file = "config.json"});
  REQUIRE(config);
  const Tree node(tree);
  const Inventory inventory = node.scan();
  const auto text = make_example(*config, request, &inventory, read_hardware(node.sys(), {}, inventory));
  if (!text) FAIL(text.error().text);
  return *text;
}

bool has(const std::string& text, const std::string& part) {
  INFO(text << "\nlacks: " << part);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a pod with G GPUs has the cards that belong to them, each with its network") {
  const std::string all = example_on("h100_roce", kWhole, {.resource = "rdma/pf", .gpus = 8});
  has(all, "rdma/pf: 8");
  has(all, "networks: \"pf,pf,pf,pf,pf,pf,pf,pf\"");
  has(all, "\"sourceRouting\": true");
  const std::string two = example_on("h100_roce", kWhole, {.resource = "rdma/pf", .gpus = 2});
  has(two, "rdma/pf: 2");
  has(two, "The node has 8 cards of it for 8 GPUs: 2 belong to 2 GPUs");
}

TEST_CASE("cards that are slower or farther from the GPUs than others belong to no GPU, and are named") {
  const char* const mixed =
      R"({"resourceList":[{"resourcePrefix":"rdma","resourceName":"pf","selectors":{"devices":["1021","a2dc"],"isRdma":true}}]})";
  const std::string one = example_on("h100_roce", mixed, {.resource = "rdma/pf", .gpus = 1});
  has(one, "rdma/pf: 1\n");
  has(one, "The node has 8 cards of it for 8 GPUs: 1 belongs to 1 GPU");
  has(one, "The resource also has 0000:aa:00.0 0000:aa:00.1 (NODE to the nearest GPU");
  has(one, "a pod may get one of them in place of a card of its GPUs");
  has(example_on("h100_roce", mixed, {.resource = "rdma/pf", .gpus = 8}), "rdma/pf: 8\n");
  CHECK(example_on("h100_roce", kWhole, {.resource = "rdma/pf", .gpus = 8}).find("also has") ==
        std::string::npos);
  // Where there are no others they are the cards.
  const char* const storage =
      R"({"resourceList":[{"resourceName":"s","selectors":{"devices":["a2dc"],"isRdma":true}}]})";
  has(example_on("h100_roce", storage, {.resource = "intel.com/s", .gpus = 8}), "The node has 2 cards of it");
}

TEST_CASE("a pod that no node like this can run is printed, and it is said that it stays Pending") {
  const std::string many = example_on("h100_roce", kWhole, {.resource = "rdma/pf", .gpus = 16});
  has(many, "The node has 8 GPUs: a pod with 16 GPUs stays Pending");
  CHECK(many.find("belong to 16 GPUs") == std::string::npos);
  // One of two ports is down.
  const char* const pf =
      R"({"resourceList":[{"resourcePrefix":"rdma","resourceName":"pf","selectors":{"devices":["101b"],"isRdma":true}}]})";
  has(example_on("a100_bond", pf, {.resource = "rdma/pf", .gpus = 2}), "Only 1 of 2 cards is healthy now");
  CHECK(example_on("a100_bond", pf, {.resource = "rdma/pf", .gpus = 1}).find("healthy now") ==
        std::string::npos);
}

TEST_CASE("several devices of one resource have one range, and the example says what gives each its own") {
  const char* const words = "Where each rail has a subnet of its own, a bundle or a resource per rail";
  has(example_on("h100_roce", kWhole, {.resource = "rdma/pf", .gpus = 8}), words);
  CHECK(example_on("h100_roce", kWhole, {.resource = "rdma/pf", .gpus = 1}).find(words) == std::string::npos);
}

TEST_CASE("networks that the user names decide, and it is said that the GPUs have more cards") {
  const std::string text =
      example_on("h100_roce", kWhole, {.resource = "rdma/pf", .gpus = 8, .networks = {"one"}});
  has(text, "rdma/pf: 1\n");
  has(text, "so that 8 belong to 8 GPUs; this pod has 1");
}

TEST_CASE(
    "pods of shared RoCE and iWARP are in the host's network, whatever the selectors name; InfiniBand is "
    "not") {
  const char* const any = R"({"mode":"hca"})";
  for (const char* tree : {"erdma_vm", "roce_rails"}) {
    CAPTURE(tree);
    has(example_on(tree, any, {.resource = "rdma/hca"}), "hostNetwork: true");
  }
  const std::string infiniband = example_on("v100_ib", any, {.resource = "rdma/hca"});
  CHECK(infiniband.find("hostNetwork") == std::string::npos);
  has(infiniband, "ib_write_bw -d mlx5_0");
}

TEST_CASE("vfrail example reads the node that --root names") {
  const Tree tree("h100_roce");
  const test::TempDir folder;
  const std::string file = test::write(folder, "config.json", kWhole);
  const auto run = [&](const std::string& root) {
    return test::run([&] {
      return example({.config_file = file, .root = root, .request = {.resource = "rdma/pf", .gpus = 4}});
    });
  };
  has(run(tree.root()).out, "rdma/pf: 4");
  CHECK(run("/nowhere").code == 1);
}
