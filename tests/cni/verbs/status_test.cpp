// cni/verbs/status.h: what a configuration demands of the node. The verb itself is tested in tests/netns.
#include "cni/verbs/status.h"

#include "cni/plan/plan.h"
#include "common/errors/error_id.h"
#include "tests/cni/fake_node.h"

#include <cerrno>
#include <fstream>

namespace vfrail::test {
using namespace cni;
namespace {

using Catch::Contains;

Result<StatusAnswer> status_of(TwoVfs& node, const std::string& keys) {
  return node.run(vfrail::cni::status, Command::status,
                  R"({"cniVersion":"1.1.0","name":"n","type":"vfrail")" + keys + "}");
}

}  // namespace

TEST_CASE("missing isolation, in shared mode or without RDMA, is reported if it is required") {
  RdmaConf demands;
  SECTION("by rdmaIsolation") { demands.isolation = true; }
  SECTION("by rdmaName") { demands.name = "rdma0"; }
  CHECK_FALSE(missing_isolation(demands, RdmaNetnsMode::exclusive));
  CHECK_FALSE(missing_isolation(RdmaConf{}, RdmaNetnsMode::shared));
  CHECK_THAT(missing_isolation(demands, RdmaNetnsMode::shared).value_or(""),
             Contains(isolation_key(demands)) && Contains("shared") && Contains("netns_mode=0"));
  CHECK_THAT(missing_isolation(demands, std::nullopt).value_or(""), Contains("not loaded"));
}

TEST_CASE("a requested RDMA name requires isolation, required RDMA does not") {
  TwoVfs node;
  node.world.rdma_mode = RdmaNetnsMode::shared;
  CHECK(status_of(node, R"(,"rdma":"require")")->missing.empty());
  const auto found = status_of(node, R"(,"rdmaName":"rdma0")");
  CHECK(found->missing.size() == 1);
  CHECK(found->id == ErrorId::rdma_shared_mode);
}

TEST_CASE("a pod whose PF is gone, or whose device has lost its driver, is degraded") {
  TwoVfs node;
  REQUIRE(node.add(R"({"cniVersion":"1.1.0","name":"n","type":"vfrail","deviceID":"0000:21:10.0"})"));
  CHECK(status_of(node, "")->degraded.empty());
  const std::string folder = node.dir.path("root/sys/bus/pci/devices/0000:21:10.0");
  std::string words;
  SECTION("a PF that is there") { std::filesystem::create_symlink("../0000:21:10.2", folder + "/physfn"); }
  SECTION("the PF") {
    std::filesystem::create_symlink("../0000:21:00.0", folder + "/physfn");
    words = "the PF of the device is gone";
  }
  SECTION("the driver") {
    std::filesystem::remove(folder + "/driver");
    words = "no driver";
  }
  const auto found = status_of(node, "");
  REQUIRE(found);
  CHECK(found->missing.empty());
  REQUIRE(found->degraded.size() == (words.empty() ? 0 : 1));
  CHECK(found->id == (words.empty() ? std::nullopt : std::optional(ErrorId::device_lost)));
  if (!words.empty()) CHECK_THAT(found->degraded.front(), Contains(words));
}

TEST_CASE("an error of the state folder has its remedy, another error none") {
  CHECK_THAT(with_remedy(Error::from_errno(EROFS, "x")).text, Contains("writable"));
  CHECK_THAT(with_remedy(Error::from_errno(ENOSPC, "x")).text, Contains("make room"));
  CHECK(with_remedy(Error::from_errno(EIO, "x")).text == Error::from_errno(EIO, "x").text);
}

}  // namespace vfrail::test
