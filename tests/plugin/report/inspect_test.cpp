#include "plugin/report/inspect.h"

#include "common/json.h"
#include "tests/plugin/tree.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using test::TempDir;
using test::Tree;

namespace {

struct Run {
  int code = 0;
  std::string out;
  std::string err;
};

Run run(const std::function<int()>& command) {
  std::ostringstream out;
  std::ostringstream err;
  std::streambuf* const real_out = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const real_err = std::cerr.rdbuf(err.rdbuf());
  const int code = command();
  std::cout.rdbuf(real_out);
  std::cerr.rdbuf(real_err);
  return {code, out.str(), err.str()};
}

std::string write(const TempDir& folder, const std::string& text) {
  const std::string path = folder.path("config.json");
  std::ofstream(path) << text;
  return path;
}

constexpr const char* kHostdev =
    R"({"resourceList":[{"resourceName":"hostdev","selectors":{"isRdma":true,"comment":"eth0"}}]})";

}  // namespace

TEST_CASE("inspect without a configuration shows every function and its use by the host") {
  const Tree tree("management");
  InspectOptions options;
  options.root = tree.root();
  const Run result = run([&] { return inspect(options); });
  CHECK(result.code == 0);
  CHECK(result.out.find("none: no config given") != std::string::npos);
  CHECK(result.out.find("the host uses it: eno1 is a member of bond0 (a bond)") != std::string::npos);
  CHECK(result.out.find("in no pool: 8 functions") != std::string::npos);
}

TEST_CASE("inspect with a configuration answers in JSON, warnings of the configuration included") {
  const Tree tree("igb_node");
  const TempDir folder;
  InspectOptions options;
  options.root = tree.root();
  options.config_file = write(folder, kHostdev);
  options.resource_prefix = "nvidia.com";
  options.output = InspectOptions::Output::json;
  const Run result = run([&] { return inspect(options); });
  CHECK(result.code == 0);
  const auto json = Json::parse(result.out);
  REQUIRE(json);
  const Json& pool = json->find("pools")->as_array()->at(0);
  CHECK(*pool.find("resource")->as_text() == "nvidia.com/hostdev");
  CHECK(pool.find("devices")->as_array()->size() == 8);
  CHECK(
      json->find("warnings")->as_array()->at(0).as_text()->find("selectors.comment: unknown key, ignored") !=
      std::string::npos);
}

TEST_CASE("inspect answers in JSON also where the name of an interface is no UTF-8") {
  Tree tree("igb_node");
  tree.add("sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/net/e\xff/type = 1");
  InspectOptions options;
  options.root = tree.root();
  options.output = InspectOptions::Output::json;
  const Run result = run([&] { return inspect(options); });
  CHECK(result.code == 0);
  CHECK(result.out.find("e\xEF\xBF\xBD") != std::string::npos);
  CHECK(Json::parse(result.out));
}

TEST_CASE("inspect shows the distances of the pools' devices in place of their facts") {
  const Tree tree("igb_node");
  const TempDir folder;
  InspectOptions options;
  options.root = tree.root();
  options.config_file = write(folder, kHostdev);
  options.distances = true;
  const Run table = run([&] { return inspect(options); });
  CHECK(table.code == 0);
  CHECK(table.out.find("intel.com/hostdev: 8 devices of 2 PFs") == 0);
  options.output = InspectOptions::Output::json;
  const auto json = Json::parse(run([&] { return inspect(options); }).out);
  REQUIRE(json);
  CHECK(json->find("pools")->as_array()->at(0).find("pfs")->as_array()->size() == 2);
}

TEST_CASE("inspect exits with 1 when the node cannot be read and with 2 when the configuration is wrong") {
  const Tree empty("");
  const TempDir folder;
  InspectOptions options;
  options.root = empty.root();
  CHECK(run([&] { return inspect(options); }).code == 1);
  options.config_file = write(folder, "{}");
  const Run result = run([&] { return inspect(options); });
  CHECK(result.code == 2);
  CHECK(result.err ==
        "vfrail: " + options.config_file +
            ": resourceList: missing, and so are configList and mode: there is nothing to offer\n");
}

TEST_CASE("inspect shows the other devices beside one that cannot be read, and exits with 1") {
  Tree tree("igb_node");
  const std::string uevent = "sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/uevent";
  tree.remove(uevent);
  tree.add(uevent + " -> uevent");
  InspectOptions options;
  options.root = tree.root();
  const Run result = run([&] { return inspect(options); });
  CHECK(result.code == 1);
  CHECK(result.out.find("21:10.2") != std::string::npos);
  CHECK(result.err.find("error: 0000:21:10.0 cannot be read: ") == 0);
}

TEST_CASE("inspect finds a function by a short address and by the bond that has it, and prints names alone") {
  const Tree tree("a100_bond");
  InspectOptions options;
  options.root = tree.root();
  options.output = InspectOptions::Output::name;
  const Run all = run([&] { return inspect(options); });
  const auto count = std::count(all.out.begin(), all.out.end(), '\n');
  CHECK(count > 2);
  options.explain = "bond0";
  const Run members = run([&] { return inspect(options); });
  CHECK(members.code == 0);
  CHECK(std::count(members.out.begin(), members.out.end(), '\n') >= 1);
  CHECK(std::count(members.out.begin(), members.out.end(), '\n') < count);
  options.explain = all.out.substr(5, all.out.find('\n') - 5);
  CHECK(run([&] { return inspect(options); }).out == all.out.substr(0, all.out.find('\n') + 1));
}
