// What plan and example print for whole nodes, compared with the files in golden/, which a person has read as
// the owner of such a cluster would. To make them anew, and read the difference:
//   VFRAIL_UPDATE_DOCUMENTS=1 plugin_tests 'golden *'
#include "plugin/admin/advise/example.h"
#include "plugin/admin/plan/cluster.h"
#include "plugin/admin/plan/plan_command.h"
#include "tests/plugin/admin/plan/planned.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/support/places.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Planned;
using test::Tree;

namespace {

void compare(const std::string& file, const std::string& text) {
  const std::string path = test::source_path("tests/plugin/admin/plan/golden/" + file);
  if (std::getenv("VFRAIL_UPDATE_DOCUMENTS") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  std::ifstream in(path);
  std::ostringstream golden;
  golden << in.rdbuf();
  INFO(file);
  CHECK(golden.str() == text);
}

// Of a temporary tree, whose name is another each time.
std::string without_folder(const Tree& tree, std::string text) {
  for (size_t at = 0; (at = text.find(tree.root(), at)) != std::string::npos;)
    text.replace(at, tree.root().size(), "NODE");
  return text;
}

std::string example_of(const Planned& planned, const FabricPlan& fabric, const std::string& kind) {
  const auto config = parse_config(planned.config.text(), {.file = "config.json", .strict = true});
  REQUIRE(config);
  const auto text = make_example(*config,
                                 {.resource = fabric.way(fabric.recommended).resource,
                                  .kind = kind,
                                  .gpus = static_cast<uint32_t>(planned.facts.inventory.gpus.size())},
                                 &planned.facts.inventory, planned.facts.hardware);
  if (!text) FAIL(text.error().text);
  return *text;
}

}  // namespace

TEST_CASE(
    "golden plans and examples: nodes that users have written about, and nodes of eight and four GPUs") {
  for (const char* name :
       {"v100_ib", "a100_bond", "roce_rails", "erdma_vm", "h100_roce", "gb200", "igb_node", "management"}) {
    const Tree tree(name);
    const Planned planned(tree);
    compare(std::string(name) + ".plan.txt", without_folder(tree, planned.text));
    size_t number = 0;
    for (const FabricPlan& fabric : planned.fabrics)
      compare(std::string(name) + (number++ == 0 ? "" : "." + std::to_string(number)) + ".example.yaml",
              example_of(planned, fabric, "pod"));
  }
}

TEST_CASE("plan -o config has the recommended way's resource of each fabric alone, and serve takes it") {
  for (const char* name :
       {"v100_ib", "a100_bond", "roce_rails", "erdma_vm", "h100_roce", "gb200", "igb_node"}) {
    INFO(name);
    const Tree tree(name);
    const Planned planned(tree);
    std::vector<std::string> wanted;
    for (const FabricPlan& fabric : planned.fabrics)
      wanted.push_back(fabric.way(fabric.recommended).resource);
    const test::Run run =
        test::run([&] { return plan({.roots = {tree.root()}, .output = PlanOutput::config}); });
    const auto config = parse_config(run.out, {.file = "config.json", .strict = true});
    REQUIRE(config);
    CHECK(config->warnings.empty());
    std::vector<std::string> got;
    for (const ResourceConfig& resource : config->resources) got.push_back(resource.resource());
    CHECK(got == wanted);
  }
}

TEST_CASE("golden job of eight GPUs on a node of eight H100") {
  const Planned planned{Tree("h100_roce")};
  compare("h100_roce.mpi-job.yaml", example_of(planned, planned.fabric(), "mpi-job"));
}

TEST_CASE("golden plan of a cluster with four kinds of nodes") {
  std::vector<std::unique_ptr<Tree>> trees;
  std::vector<PlanFacts> nodes;
  std::vector<std::string> roots;
  for (const char* name : {"v100_ib", "a100_bond", "h100_roce", "gb200"}) {
    trees.push_back(std::make_unique<Tree>(name));
    nodes.push_back(test::plan_facts(*trees.back(), name));
    roots.emplace_back(name);
  }
  const ClusterPlan plan = make_cluster_plan(nodes);
  CHECK(plan.warnings.empty());
  compare("cluster.plan.txt", render_cluster_plan(plan, roots));
}
