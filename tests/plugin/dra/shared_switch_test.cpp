#include "plugin/dra/shared_switch.h"

#include "common/files.h"
#include "tests/plugin/shared_pool.h"
#include "tests/support/temp_dir.h"

#include <filesystem>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

const std::string kHca = "rdma/hca";

struct SwitchedNode {
  SwitchedNode() {
    REQUIRE(log.open_file("/dev/null"));
    Pool pool = test::shared_pool(true).pools.front();
    pool.config.units = 10;
    pools.push_back(PublishedPool(pool));
  }
  ClaimRecord claim() const {
    ClaimRecord out;
    out.claim = {"default", "c", "u1"};
    out.requests = {{"nic", {{"rdma-hca-shared", kHca, "0", "s1", 1}}}};
    return out;
  }
  DevicesInUse held() const {
    DevicesInUse out;
    out.resources[kHca]["3"] = {"default", "old", "app"};
    return out;
  }
  // Whether it is with the device plugin although claims are served, and why.
  std::string note() const {
    const auto notes = shared_pool_notes(folder.path());
    return notes.empty() ? "" : notes.front().text;
  }
  bool by_claims(const SharedSwitch& of) const { return of.by_claims(pools.front()->config); }

  test::TempDir folder;
  Log log;
  std::vector<PublishedPool> pools;
  const DevicesInUse none;
};

bool has(const std::string& text, std::string_view part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a shared pool stays with the device plugin until the API server is known to keep shared devices") {
  SwitchedNode node;
  SharedSwitch shared(node.folder.path(), node.log);
  CHECK(shared.by_claims(ResourceConfig()));
  CHECK_FALSE(node.by_claims(shared));
  CHECK_FALSE(shared.follow(node.pools, Sharing::unknown, &node.none, {}));
  CHECK_FALSE(node.by_claims(shared));
  CHECK_FALSE(shared.is_waiting());
  CHECK(has(node.note(), "rdma/hca stays with the device plugin"));
  CHECK(has(node.note(), "vfrail-kube node has not answered yet"));
  CHECK_FALSE(shared.follow(node.pools, Sharing::dropped, &node.none, {}));
  CHECK_FALSE(node.by_claims(shared));
  CHECK(has(node.note(), "DRAConsumableCapacity"));
  CHECK(shared.follow(node.pools, Sharing::kept, &node.none, {}));
  CHECK(node.by_claims(shared));
  CHECK(node.note().empty());
}

TEST_CASE("a shared pool moves to claims when no pod has a share by the device plugin") {
  SwitchedNode node;
  SharedSwitch shared(node.folder.path(), node.log);
  const DevicesInUse held = node.held();
  CHECK_FALSE(shared.follow(node.pools, Sharing::kept, nullptr, {}));
  CHECK(shared.is_waiting());
  CHECK_FALSE(shared.follow(node.pools, Sharing::kept, &held, {}));
  CHECK(shared.is_waiting());
  CHECK(has(node.note(), "pods have shares by the device plugin"));
  CHECK_FALSE(shared.follow(node.pools, Sharing::kept, nullptr, {}));
  CHECK(shared.follow(node.pools, Sharing::kept, &node.none, {}));
  CHECK(node.by_claims(shared));
  CHECK_FALSE(shared.is_waiting());
}

TEST_CASE("neither a restart nor an agent that is away moves a shared pool back") {
  SwitchedNode node;
  {
    SharedSwitch shared(node.folder.path(), node.log);
    REQUIRE(shared.follow(node.pools, Sharing::kept, &node.none, {}));
  }
  SharedSwitch shared(node.folder.path(), node.log);
  CHECK(node.by_claims(shared));
  CHECK_FALSE(shared.follow(node.pools, Sharing::unknown, nullptr, {}));
  CHECK(node.by_claims(shared));
}

TEST_CASE("a shared pool of which pods got shares by the device plugin meanwhile returns to that") {
  SwitchedNode node;
  {
    SharedSwitch shared(node.folder.path(), node.log);
    REQUIRE(shared.follow(node.pools, Sharing::kept, &node.none, {}));
  }
  SharedSwitch shared(node.folder.path(), node.log);
  const DevicesInUse held = node.held();
  CHECK_FALSE(shared.follow(node.pools, Sharing::kept, &held, {node.claim()}));
  CHECK(node.by_claims(shared));
  CHECK(shared.follow(node.pools, Sharing::kept, &held, {}));
  CHECK_FALSE(node.by_claims(shared));
  CHECK(has(node.note(), "pods have shares by the device plugin"));
}

TEST_CASE("of two instances the one follows what the other has decided") {
  SwitchedNode node;
  SharedSwitch old(node.folder.path(), node.log);
  SharedSwitch successor(node.folder.path(), node.log);
  REQUIRE(old.follow(node.pools, Sharing::kept, &node.none, {}));
  successor.follow(node.pools, Sharing::unknown, nullptr, {});
  CHECK(node.by_claims(successor));
}

TEST_CASE(
    "a shared pool returns where the API server keeps shared devices no more and no claim has a share") {
  SwitchedNode node;
  SharedSwitch shared(node.folder.path(), node.log);
  REQUIRE(shared.follow(node.pools, Sharing::kept, &node.none, {}));
  CHECK_FALSE(shared.follow(node.pools, Sharing::dropped, &node.none, {node.claim()}));
  CHECK(node.by_claims(shared));
  CHECK(has(node.note(), "end the pods that have shares by claims"));
  CHECK(shared.follow(node.pools, Sharing::dropped, &node.none, {}));
  CHECK_FALSE(node.by_claims(shared));
}

TEST_CASE("a shared pool is not moved where that cannot be recorded") {
  SwitchedNode node;
  const std::string file = node.folder.path("file");
  REQUIRE(write_file(file, "", 0600, Durability::renamed));
  SharedSwitch shared(file, node.log);
  CHECK_FALSE(shared.follow(node.pools, Sharing::kept, &node.none, {}));
  CHECK_FALSE(node.by_claims(shared));
}
