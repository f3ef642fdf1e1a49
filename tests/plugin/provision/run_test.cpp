// plugin/provision/run.h: a plan done, killed between any two of its steps, and failed at each.
#include "plugin/provision/run.h"

#include "plugin/provision/timed_write.h"
#include "tests/plugin/provision/fake_card.h"
#include "tests/support/deadline.h"

#include <sys/stat.h>

using namespace vfrail;
using namespace vfrail::test;

namespace {

constexpr const char* kThree = R"({"vfs": [{"pf": "ens1f0", "count": 3, "mac": "none"}]})";

ProvisionPlan plan_of(FakeCard& card, const std::string& config = kThree) {
  return provision_plan(vfs_config(config), facts_of(card.tree()));
}

}  // namespace

TEST_CASE("VFs are made, none of them is bound by autoprobe, and a second run writes nothing") {
  FakeCard card;
  const auto results = provision_run(plan_of(card), card.world());
  REQUIRE(results.size() == 1);
  CHECK(results[0].failures.empty());
  CHECK(card.state() == "numvfs 3, autoprobe 1, iavf iavf iavf");
  CHECK(card.autoprobed.empty());
  CHECK_FALSE(card.records().load(*PciAddress::parse(FakeCard::kPf))->has_value());
  CHECK(plan_of(card).writes() == 0);
}

TEST_CASE("serve is informed that a PF is being written, and what came of it") {
  FakeCard card;
  const PciAddress pf = *PciAddress::parse(FakeCard::kPf);
  ProvisionWorld world = card.world();
  std::string while_written;
  world.write = [&, write = world.write](const std::string& path, std::string_view text) {
    while_written = name_of(card.progress().load(pf)->value().state);
    return write(path, text);
  };
  provision_run(plan_of(card), world);
  CHECK(while_written == "running");
  CHECK(card.progress().load(pf)->value().state == ProgressState::done);
  card.refused = "sriov_numvfs";
  provision_run(plan_of(card, R"({"vfs": [{"pf": "ens1f0", "count": 5, "mac": "none"}]})"), card.world());
  const Progress failed = card.progress().load(pf)->value();
  CHECK(failed.state == ProgressState::failed);
  CHECK(failed.text.find("sriov_numvfs") != std::string::npos);
}

TEST_CASE("fewer VFs while pods have some: a run that waits drains the PF, another one is refused") {
  FakeCard card;
  provision_run(plan_of(card), card.world());
  const PciAddress pf = *PciAddress::parse(FakeCard::kPf);
  const UsersById users{{"0000:18:02.1", {"pod demo/one"}}};
  const auto plan = [&](const char* count) {
    const std::string config =
        std::string(R"({"vfs": [{"pf": "ens1f0", "mac": "none", "count": )") + count + "}]}";
    return provision_plan(vfs_config(config), facts_of(card.tree(), users));
  };
  ProvisionWorld world = card.world();
  provision_run(plan("1"), world);
  CHECK(card.progress().load(pf)->value().state == ProgressState::refused);
  world.drains = true;
  provision_run(plan("1"), world);
  const Progress draining = card.progress().load(pf)->value();
  CHECK(draining.state == ProgressState::draining);
  CHECK(draining.text.find("demo/one") != std::string::npos);
  // More are no reason to withhold those that there are.
  provision_run(plan("5"), world);
  CHECK(card.progress().load(pf)->value().state == ProgressState::refused);
  CHECK(card.state() == "numvfs 3, autoprobe 1, iavf iavf iavf");
}

TEST_CASE(
    "a run that is killed after any of its steps is finished by the next one, with autoprobe as before") {
  const size_t steps = [] {
    FakeCard card;
    return plan_of(card).pfs[0].steps.size();
  }();
  REQUIRE(steps == 9);
  for (size_t killed_after = 0; killed_after <= steps; ++killed_after) {
    CAPTURE(killed_after);
    FakeCard card;
    ProvisionPlan first = plan_of(card);
    first.pfs[0].steps.resize(killed_after);
    provision_run(first, card.world());
    const auto results = provision_run(plan_of(card), card.world());
    CHECK(results[0].failures.empty());
    CHECK(card.state() == "numvfs 3, autoprobe 1, iavf iavf iavf");
    CHECK(card.autoprobed.empty());
    CHECK_FALSE(card.records().load(*PciAddress::parse(FakeCard::kPf))->has_value());
    CHECK(plan_of(card).writes() == 0);
  }
}

TEST_CASE("another number goes over none, while no VF is in use") {
  FakeCard card;
  provision_run(plan_of(card), card.world());
  card.log.clear();
  const auto results =
      provision_run(plan_of(card, R"({"vfs": [{"pf": "ens1f0", "count": 5, "mac": "none"}]})"), card.world());
  CHECK(results[0].failures.empty());
  CHECK(card.state() == "numvfs 5, autoprobe 1, iavf iavf iavf iavf iavf");
  CHECK(card.autoprobed.empty());
  CHECK(card.log.at(1) == "sriov_numvfs 0");
}

TEST_CASE("whatever write fails, autoprobe is restored, and the next run does what is left") {
  for (const char* refused : {"sriov_numvfs", "drivers_probe"}) {
    CAPTURE(refused);
    FakeCard card;
    card.refused = refused;
    const auto results = provision_run(plan_of(card), card.world());
    REQUIRE_FALSE(results[0].failures.empty());
    CHECK(results[0].failures[0].id_text() == "VF-PROVISION-FAILED");
    CHECK_THAT(results[0].failures[0].text, Catch::Contains("EIO"));
    CHECK_THAT(card.state(), Catch::Contains("autoprobe 1"));
    card.refused.clear();
    CHECK(provision_run(plan_of(card), card.world())[0].failures.empty());
    CHECK(card.state() == "numvfs 3, autoprobe 1, iavf iavf iavf");
  }
}

TEST_CASE("autoprobe that cannot be restored stays recorded") {
  FakeCard card;
  card.refused = "sriov_drivers_autoprobe";
  CHECK(provision_run(plan_of(card), card.world())[0].failures.size() == 2);
  CHECK(card.records().load(*PciAddress::parse(FakeCard::kPf))->value_or(false));
}

TEST_CASE("a PF whose write hangs is reported, and the other cards are done all the same") {
  FakeCard hanging;
  FakeCard working;
  // Two cards in one plan, each with a folder of its own: the write of the one never returns.
  const std::string fifo = hanging.tree().root() + "/" + FakeCard::kPath + FakeCard::kPf + "/sriov_numvfs";
  ProvisionPlan plan = plan_of(hanging);
  std::filesystem::remove(fifo);
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  ProvisionWorld world = hanging.world();
  world.write = [](const std::string& path, std::string_view text) {
    return timed_write(path, text, std::chrono::milliseconds(500));
  };
  const auto results = provision_run(plan, world);
  REQUIRE(results[0].failures.size() == 1);
  CHECK(results[0].failures[0].code == Errc::timeout);
  CHECK(*hanging.tree().sys().text(std::string(FakeCard::kPath) + FakeCard::kPf +
                                   "/sriov_drivers_autoprobe") == "1");
  CHECK(provision_run(plan_of(working), working.world())[0].failures.empty());
}

TEST_CASE(
    "without netlink a setting fails by name, VFs that need no GUID are bound, and autoprobe is restored") {
  FakeCard card;
  const auto results =
      provision_run(plan_of(card, R"({"vfs": [{"pf": "ens1f0", "count": 1, "trust": true, "mac": "none"}]})"),
                    card.world());
  REQUIRE(results[0].failures.size() == 1);
  CHECK(results[0].failures[0].text ==
        "set ens1f0 vf 0 trust on: the kernel cannot be asked about ens1f0 from this network namespace or "
        "root");
  CHECK(card.state() == "numvfs 1, autoprobe 1, iavf");
}

TEST_CASE("VFs are bound to vfio-pci, some of them, and back to their own driver") {
  const auto config = [](const std::string& driver) {
    return R"({"vfs": [{"pf": "ens1f0", "count": 3, "mac": "none", "driver": )" + driver + "}]}";
  };
  FakeCard card;
  CHECK(provision_run(plan_of(card, config(R"(["vfio-pci#1-2"])")), card.world())[0].failures.empty());
  CHECK(card.state() == "numvfs 3, autoprobe 1, iavf vfio-pci vfio-pci");
  CHECK(plan_of(card, config(R"(["vfio-pci#1-2"])")).writes() == 0);
  const ProvisionPlan back = plan_of(card, config(R"(["vfio-pci#2", "default#1"])"));
  SECTION("that is free") {
    CHECK(provision_run(back, card.world())[0].failures.empty());
    CHECK(card.state() == "numvfs 3, autoprobe 1, iavf iavf vfio-pci");
    CHECK(plan_of(card, config(R"(["vfio-pci#2", "default#1"])")).writes() == 0);
  }
  SECTION("that a VM has opened meanwhile, and keeps") {
    card.tree().add(std::string(FakeCard::kPath) + "0000:18:02.1/enable = 1\n");
    const auto results = provision_run(back, card.world());
    REQUIRE_FALSE(results[0].failures.empty());
    CHECK_THAT(results[0].failures[0].text, Catch::Contains("0000:18:02.1 is open by now"));
    CHECK(card.state() == "numvfs 3, autoprobe 1, iavf vfio-pci vfio-pci");
  }
  SECTION("that vfio-pci takes again") {
    card.dynamic_vfio = true;
    const auto results = provision_run(back, card.world());
    REQUIRE(results[0].failures.size() == 1);
    CHECK_THAT(results[0].failures[0].text,
               Catch::Contains("vfio-pci is bound to") && Catch::Contains("remove_id"));
  }
}

TEST_CASE("the functions of one card are of one card, others are not") {
  CHECK(card_of(*PciAddress::parse("0000:18:00.0")) == card_of(*PciAddress::parse("0000:18:00.1")));
  CHECK(card_of(*PciAddress::parse("0000:18:00.0")) != card_of(*PciAddress::parse("0000:19:00.0")));
}
