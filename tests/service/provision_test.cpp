// `vfrail serve` waits for `vfrail provision`: the real program on a made-up node, with real records.
#include "plugin/device/provisioning/progress.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/program.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <filesystem>
#include <fstream>
#include <signal.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;
using std::chrono::seconds;

namespace {

constexpr const char* kHostdev = "nvidia.com/hostdev";
const PciAddress kPf = *PciAddress::parse("0000:21:00.0");
constexpr size_t kOthers = 4;  // VFs of the other PF
constexpr size_t kAll = 8;

struct Provisioned {
  Provisioned() : kubelet(node.path("k")), records(node.run_dir() + "/provision", "boot") {
    node.fill();
    fs::create_directories(node.root() + "/proc/sys/kernel/random");
    std::ofstream(node.root() + "/proc/sys/kernel/random/boot_id") << "boot\n";
    configure(R"(,"vfs": [{"pf": "0000:21:00.0", "count": 4}])");
  }
  void configure(const std::string& vfs) const {
    std::ofstream(node.path("config.json"))
        << R"({"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
               "selectors": {"vendors": ["8086"], "isRdma": true}}])"
        << vfs << "}";
  }
  // No scan by a timer, so that what is seen is seen by the event that it is about.
  std::vector<std::string> flags() const {
    return {"--config-file",     node.path("config.json"), "--root",
            node.root(),         "--kubelet-root",         node.path("k"),
            "--device-info-dir", node.device_info_dir(),   "--run-dir",
            node.run_dir(),      "--rescan-interval",      "86400"};
  }
  void write(ProgressState state, seconds at = boot_time()) const {
    REQUIRE(records.save(kPf, {state, "vfs[0]", "because", at}));
  }
  bool offers(size_t devices) const { return kubelet.wait_for(kHostdev, devices, kDeadline); }
  std::optional<Progress> progress() const {
    const auto read = records.load(kPf);
    return read ? *read : std::nullopt;
  }

  IgbNode node;
  TestKubelet kubelet;
  ProgressRecords records;
};

}  // namespace

TEST_CASE("serve allocates the VFs of a PF in vfs when provision's record says that it is done") {
  const Provisioned node;
  const Program program(node.node, node.flags());
  REQUIRE(node.offers(kOthers));
  CHECK(logs(program, "VF-PROVISION-PENDING"));
  REQUIRE(node.progress());
  CHECK(node.progress()->state == ProgressState::awaited);
  node.write(ProgressState::done);
  REQUIRE(node.offers(kAll));
  // The driver is loaded again: provision makes the VFs anew.
  node.write(ProgressState::running);
  REQUIRE(node.offers(kOthers));
  node.write(ProgressState::refused);
  REQUIRE(node.offers(kAll));
  CHECK(logs(program, "VF-PROVISION-REFUSED"));
}

TEST_CASE("when serve's patience with provision is over its VFs are allocated, without an event") {
  const Provisioned node;
  const Program program(node.node, node.flags());
  REQUIRE(node.offers(kOthers));
  node.write(ProgressState::running, boot_time() - kProvisionPatience + seconds{2});
  REQUIRE(node.offers(kAll));
  CHECK(logs(program, "has not done with it in 240 s"));
}

TEST_CASE("a serve that starts later goes on waiting where the one before it was") {
  const Provisioned node;
  {
    const Program first(node.node, node.flags());
    REQUIRE(node.offers(kOthers));
  }
  const seconds since = node.progress()->at;
  const Program second(node.node, node.flags(), "second.log");
  REQUIRE(logs(second, "VF-PROVISION-PENDING"));
  CHECK(node.progress()->at == since);
}

TEST_CASE("what was written of a PF goes when vfs goes") {
  const Provisioned node;
  const Program program(node.node, node.flags());
  REQUIRE(node.offers(kOthers));
  node.write(ProgressState::refused);
  REQUIRE(node.offers(kAll));
  node.configure("");
  program.signal(SIGHUP);
  CHECK(eventually([&] { return !node.progress(); }));
  CHECK(node.offers(kAll));
}

}  // namespace vfrail::test
