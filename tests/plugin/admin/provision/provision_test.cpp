// plugin/admin/provision/provision.h: what the command prints, and its exit codes, on made-up trees.
#include "plugin/admin/provision/provision.h"

#include "common/json.h"
#include "plugin/device/provisioning/progress.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::test;

namespace {

struct Command {
  Tree tree{"igb_node"};
  TempDir folder;

  Run run(const std::string& vfs, bool dry_run = true, bool json = false) {
    ProvisionOptions options;
    options.root = tree.root();
    options.config_file = write(folder, "{\"vfs\": " + vfs + "}");
    options.dry_run = dry_run;
    options.json = json;
    return test::run([&] { return provision(options, {}); });
  }
};

}  // namespace

TEST_CASE("provision: nothing to do and done are 0, and the last line says which") {
  Command command;
  const Run nothing = command.run(R"([{"pf": "eth0", "count": 4}])", false);
  CHECK(nothing.code == 0);
  CHECK(nothing.out == "0000:21:00.0 (eth0, vfs[0]): unchanged\nnothing to do\n");
  const Run some = command.run(R"([{"pf": "eth0", "count": 0}])");
  CHECK(some.code == 0);
  CHECK(some.out ==
        "0000:21:00.0 (eth0, vfs[0]): changed\n"
        "  write 0 to /sys/bus/pci/devices/0000:21:00.0/sriov_numvfs\n"
        "done: 1 write with --dry-run, none of which is made\n");
}

TEST_CASE(
    "provision: firmware is 3, a refusal 4, a wrong configuration 2, and firmware comes before a refusal") {
  Command command;
  command.tree.move_to_pod("0000:21:10.2");
  const std::string refused = R"({"pf": "eth0", "count": 7})";
  const std::string firmware = R"({"pf": "eth1", "count": 8})";
  CHECK(command.run("[" + refused + "]").code == 4);
  CHECK(command.run("[" + firmware + "]").code == 3);
  CHECK(command.run("[" + refused + "," + firmware + "]").code == 3);
  const Run wrong = command.run(R"([{"pf": "eth0"}])");
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, Catch::Contains("vfs[0].count: missing"));
}

TEST_CASE("provision: a kernel that refuses is 1, with the reason and its id") {
  Command command;
  command.tree.remove("sys/devices/pci0000:20/0000:20:00.0/0000:21:10.2/driver");
  const Run run =
      command.run(R"([{"pf": "eth0", "count": 4, "mac": "none"}])", false);  // no drivers_probe is there
  CHECK(run.code == 1);
  CHECK_THAT(run.out, Catch::Contains("failed: write the address of virtfn1 of 0000:21:00.0 to ") &&
                          Catch::Contains("ENOENT") && Catch::Contains("[VF-PROVISION-FAILED]\nfailed"));
}

TEST_CASE("provision: a device that cannot be read is named, since it can be the PF that is missed") {
  Command command;
  command.tree.remove("sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0/sriov_numvfs");
  command.tree.add("sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0/sriov_numvfs/\n");
  const Run run = command.run(R"([{"pf": "0000:21:00.0", "count": 4}])", false);
  CHECK(run.code == 1);
  CHECK_THAT(run.out, Catch::Contains("0000:21:00.0 cannot be read: "));
}

TEST_CASE("provision: JSON has outcome, steps and reasons of each PF") {
  Command command;
  command.tree.move_to_pod("0000:21:10.2");
  const Run run = command.run(R"([{"pf": "eth0", "count": 7}, {"pf": "eth1", "count": 0}])", true, true);
  const auto json = Json::parse(run.out);
  REQUIRE(json);
  CHECK(*json->find("outcome") == Json("refused"));
  const Json& first = json->find("pfs")->as_array()->at(0);
  CHECK(*first.find("address") == Json("0000:21:00.0"));
  CHECK(*first.find("reasons")->as_array()->at(0).find("id") == Json("VF-PROVISION-REFUSED"));
  const Json& second = json->find("pfs")->as_array()->at(1);
  CHECK(second.find("steps")->as_array()->size() == 1);
  CHECK(test::schema_violation(test::source_text("plugin/admin/report/schema.json"), run.out) == "");
}

TEST_CASE("provision: what was written of a PF whose entry is gone is removed") {
  Command command;
  command.tree.add("proc/sys/kernel/random/boot_id = boot\n");
  const ProgressRecords progress(command.tree.root() + "/run/vfrail/provision", "boot");
  const PciAddress gone = *PciAddress::parse("0000:21:00.1");
  REQUIRE(progress.save(gone, {ProgressState::refused, "vfs[1]", "because", boot_time()}));
  CHECK(command.run(R"([{"pf": "eth0", "count": 4}])").code == 0);
  CHECK(progress.load(gone)->has_value());  // --dry-run
  CHECK(command.run(R"([{"pf": "eth0", "count": 4}])", false).code == 0);
  CHECK_FALSE(progress.load(gone)->has_value());
  CHECK(progress.load(*PciAddress::parse("0000:21:00.0"))->has_value());
}
