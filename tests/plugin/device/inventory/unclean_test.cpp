// Devices that vfrail-cni could not restore: unhealthy with the reason, until their file is gone.
#include "common/node/unclean.h"

#include "plugin/device/config/config.h"
#include "plugin/device/inventory/unclean_facts.h"
#include "plugin/device/match/health.h"
#include "plugin/observe/events/folder_events.h"
#include "plugin/observe/events/kernel_events.h"
#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

struct StateFolder : TempDir {
  StateFolder() {
    write_tree(path("root"), "proc/sys/kernel/random/boot_id = boot-1");
    std::filesystem::create_directories(path("cni/unclean"));
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path("cni/unclean/" + name)) << text;
  }
  Result<Inventory> inventory() const {
    Inventory out;
    out.functions.resize(2);
    out.functions[0].address = *PciAddress::parse("0000:03:02.1");
    out.functions[0].id = DeviceId(out.functions[0].address);
    out.functions[1].address = *PciAddress::parse("0000:03:02.2");
    out.functions[1].id = DeviceId(out.functions[1].address);
    TRY(add_unclean(SysRoot(path("root")), path("cni"), out));
    return out;
  }
};

}  // namespace

TEST_CASE("A device that could not be restored is unhealthy with the reasons, under every policy") {
  const StateFolder state;
  state.put("0000:03:02.1.json", format_unclean({"boot-1", {"rings: rx is 512, was 256"}}));
  state.put("0000:03:02.1@1.json", format_unclean({"boot-1", {"mode is 1, was 0"}}));
  state.put("0000:03:02.2.json", format_unclean({"boot-0", {"of an earlier boot"}}));
  const auto inventory = state.inventory();
  REQUIRE(inventory);
  ResourceConfig resource;
  resource.health = {.port = false, .carrier = false, .guid = false, .devlink = false};
  const Fault found = find_fault(inventory->functions[0], resource);
  CHECK(std::string(name_of(found.code)) == "unclean");
  const std::string& fault = found.text;
  CHECK_THAT(fault, Catch::Contains("rings: rx is 512, was 256"));
  CHECK_THAT(fault, Catch::Contains("mode is 1, was 0"));
  CHECK_THAT(fault, Catch::Contains("/opt/cni/bin/vfrail sweep"));
  CHECK(find_fault(inventory->functions[1], resource).empty());
}

TEST_CASE("A container that mounts the host uses the boot id of its own /proc") {
  const StateFolder state;
  std::filesystem::remove_all(state.path("root/proc"));
  const auto own = SysRoot().text("proc/sys/kernel/random/boot_id");
  REQUIRE(own);
  REQUIRE(own->has_value());
  state.put("0000:03:02.1.json", format_unclean({**own, {"x"}}));
  state.put("0000:03:02.2.json", format_unclean({"boot-0", {"of an earlier boot"}}));
  const auto inventory = state.inventory();
  REQUIRE(inventory);
  CHECK(inventory->functions[0].unclean == "x");
  CHECK(inventory->functions[1].unclean.empty());
}

TEST_CASE("A malformed file makes its device unclean, and hides no other") {
  const StateFolder state;
  state.put("0000:03:02.1@1.json", "{");
  state.put("0000:03:02.2.json", format_unclean({"boot-1", {"x"}}));
  const auto inventory = state.inventory();
  REQUIRE(inventory);
  CHECK_THAT(inventory->functions[0].unclean, Catch::StartsWith("its state cannot be read: "));
  CHECK(inventory->functions[1].unclean == "x");
}

TEST_CASE("A folder in the place of a file makes its device unclean, and hides no other") {
  const StateFolder state;
  std::filesystem::create_directories(state.path("cni/unclean/0000:03:02.1.json"));
  const auto inventory = state.inventory();
  REQUIRE(inventory);
  CHECK_THAT(inventory->functions[0].unclean, Catch::Contains("is a folder and not a regular file"));
  CHECK(inventory->functions[1].unclean.empty());
}

TEST_CASE("An unreadable state of vfrail-cni marks no device as clean") {
  const StateFolder state;
  state.put("0000:03:02.1.json", std::string((1 << 20) + 1, ' '));
  CHECK_FALSE(state.inventory());
  std::filesystem::remove_all(state.path("cni"));
  CHECK(state.inventory());
}

namespace {

// No device is named: every rescan reads which are unclean.
template <class Source>
std::string words_of(Source& source) {
  const auto event = source.read();
  REQUIRE(event);
  CHECK(event->changed == Changed());
  return event->words;
}

}  // namespace

TEST_CASE("A file that comes into the folder of unclean devices, or leaves it, is an event") {
  const StateFolder state;
  FolderEvents events(state.path("cni/unclean"));
  while (events.read()) {
  }
  const std::string outside = state.path("new");
  std::ofstream(outside) << format_unclean({"boot-1", {"x"}});
  std::filesystem::rename(outside, state.path("cni/unclean/0000:03:02.1.json"));
  CHECK(words_of(events) == "files in " + state.path("cni/unclean"));
  std::filesystem::remove(state.path("cni/unclean/0000:03:02.1.json"));
  CHECK(words_of(events) == "files in " + state.path("cni/unclean"));
  {
    INFO("a folder that is made later is followed from the next rescan on");
    FolderEvents later(state.path("cni/later"));
    CHECK(later.fds().empty());
    std::filesystem::create_directories(state.path("cni/later"));
    later.open_missing();
    while (later.read()) {
    }
    std::ofstream(outside) << "{}";
    std::filesystem::rename(outside, state.path("cni/later/x.json"));
    CHECK(words_of(later) == "files in " + state.path("cni/later"));
  }
}

TEST_CASE("A folder that is removed and made again is followed again from the next rescan on") {
  const StateFolder state;
  FolderEvents events(state.path("cni/unclean"));
  std::filesystem::remove(state.path("cni/unclean"));
  CHECK(words_of(events) == "files in " + state.path("cni/unclean"));
  CHECK(events.fds().empty());
  std::filesystem::create_directories(state.path("cni/unclean"));
  events.open_missing();
  state.put("0000:03:02.1.json", "{");
  CHECK(words_of(events) == "files in " + state.path("cni/unclean"));
}

TEST_CASE("The first unclean device of a node is an event, too, although its folder comes with it") {
  const test::TempDir state;
  Log log;
  KernelEvents events(log);
  events.add(std::make_unique<FolderEvents>(state.path("unclean")));
  events.add(std::make_unique<FolderEvents>(state.path()));
  while (events.read()) {
  }
  std::filesystem::create_directories(state.path("unclean"));
  std::ofstream(state.path("unclean/0000:03:02.1.json")) << format_unclean({"boot-1", {"x"}});
  CHECK(words_of(events) == "files in " + state.path());
  events.open_missing();  // as each rescan does before it reads
  std::filesystem::remove(state.path("unclean/0000:03:02.1.json"));
  CHECK(words_of(events) == "files in " + state.path("unclean"));
}

}  // namespace vfrail::test
