// plugin/report/doctor.h: each check has a finding and a remedy.
#include "plugin/report/doctor.h"

#include "tests/plugin/tree.h"
#include "tests/support/json_schema.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using test::Tree;

namespace {

CheckResult result_of(const std::string& id, const Tree& tree, const Inventory& inventory) {
  const SysRoot sys = tree.sys();
  for (auto& check : check_node({sys, inventory})) {
    if (check.id == id) return check.result;
  }
  FAIL("no check " << id);
  return {};
}

CheckResult result_of(const std::string& id, const Tree& tree) { return result_of(id, tree, tree.scan()); }

}  // namespace

TEST_CASE("every check has an id of its own, and a remedy where it finds a fault") {
  const Tree tree("igb_node");
  const SysRoot sys = tree.sys();
  const Inventory inventory = tree.scan();
  std::set<std::string> ids;
  for (const CheckedNode& check : check_node({sys, inventory})) {
    CHECK(ids.insert(check.id).second);
    CHECK_FALSE(check.result.text.empty());
    if (check.result.finding == Finding::fault) CHECK_FALSE(check.result.remedy.empty());
  }
  CHECK(ids.size() == node_checks().size());
  std::ifstream file(VFRAIL_SOURCE_DIR "/plugin/report/schema.json");
  const std::string schema{std::istreambuf_iterator<char>(file), {}};
  CHECK(test::schema_violation(schema, checks_json(check_node({sys, inventory})).text()) == "");
}

TEST_CASE("the RDMA mode is good when exclusive, and when shared there is advice") {
  Tree tree("igb_node");
  Inventory inventory = tree.scan();
  inventory.rdma_netns_mode = RdmaNetnsMode::exclusive;
  CHECK(result_of("rdma-netns-mode", tree, inventory).finding == Finding::good);
  inventory.rdma_netns_mode = RdmaNetnsMode::shared;
  CHECK(result_of("rdma-netns-mode", tree, inventory).finding == Finding::advice);
  inventory.rdma_netns_mode.reset();
  CHECK(result_of("rdma-netns-mode", tree, inventory).finding == Finding::unknown);
}

TEST_CASE("a runtime without CDI is advice where RDMA devices are renumbered, and none elsewhere") {
  Tree tree("igb_node");
  tree.add("etc/containerd/config.toml = enable_cdi = false");
  Inventory inventory = tree.scan();
  inventory.rdma_netns_mode = RdmaNetnsMode::exclusive;
  CHECK(result_of("container-runtime-cdi", tree, inventory).finding == Finding::advice);
  inventory.rdma_netns_mode = RdmaNetnsMode::shared;
  CHECK(result_of("container-runtime-cdi", tree, inventory).finding == Finding::good);
}

TEST_CASE("a device that is unclean or cannot be read is a fault with its address") {
  const Tree tree("igb_node");
  CHECK(result_of("devices", tree).finding == Finding::good);
  Inventory inventory = tree.scan();
  inventory.functions.back().unclean = "its MTU is 1300, was 1500";
  inventory.unread.push_back({"0000:99:00.1", "EIO"});
  const CheckResult found = result_of("devices", tree, inventory);
  CHECK(found.finding == Finding::fault);
  CHECK(found.text.find("0000:99:00.1 cannot be read: EIO") != std::string::npos);
  CHECK(found.text.find(inventory.functions.back().id.text() + ": its MTU is 1300") != std::string::npos);
}
