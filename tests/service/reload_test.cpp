// `vfrail serve` and a configuration that changes under it, as a ConfigMap does.
#include "plugin/service/kubelet/resources.h"
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
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string resource(const std::string& name, const std::string& pf) {
  return R"({"resourcePrefix": "nvidia.com", "resourceName": ")" + name +
         R"(", "selectors": {"isRdma": true, "rootDevices": [")" + pf + R"("]}})";
}
const std::string kRail0 = resource("rail0", "0000:21:00.0");
const std::string kRail1 = resource("rail1", "0000:41:00.0");

size_t count(const std::string& text, const std::string& word) {
  size_t out = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++out;
  return out;
}

// A node whose configuration is a mounted ConfigMap.
class Mounted {
 public:
  Mounted() : kubelet(node.path("k")) { node.fill(); }

  void configure(const std::string& resources) {
    const fs::path folder = node.path("map");
    const std::string version = ".." + std::to_string(++versions_);
    fs::create_directories(folder / version);
    std::ofstream(folder / version / "config.json") << R"({"resourceList": [)" << resources << "]}";
    fs::create_directory_symlink(version, folder / "..data_tmp");
    fs::rename(folder / "..data_tmp", folder / "..data");
    if (versions_ == 1) fs::create_symlink("..data/config.json", folder / "config.json");
  }
  std::vector<std::string> flags() const {
    return {"--config-file",
            node.path("map/config.json"),
            "--root",
            node.root(),
            "--kubelet-root",
            node.path("k"),
            "--run-dir",
            node.run_dir(),
            "--device-info-dir",
            node.device_info_dir()};
  }

  const IgbNode node;
  TestKubelet kubelet;

 private:
  int versions_ = 0;
};

}  // namespace

TEST_CASE("a changed ConfigMap is applied, and what did not change is not disturbed") {
  Mounted site;
  site.configure(kRail0);
  Program program(site.node, site.flags());
  REQUIRE(site.kubelet.wait_for("nvidia.com/rail0", 4, kDeadline));
  site.configure(kRail0 + ", " + kRail1);
  REQUIRE(site.kubelet.wait_for("nvidia.com/rail1", 4, kDeadline));
  CHECK(logs(program, "the configuration changed resources=2 added=nvidia.com/rail1"));
  site.configure(kRail0);
  CHECK(site.kubelet.wait(kDeadline, [](const KubeletNode& node) {
    return node.at("nvidia.com/rail1").capacity() == 0 && !node.at("nvidia.com/rail1").connected;
  }));
  CHECK(logs(program, "the resource is no longer served resource=nvidia.com/rail1 change=\"-4 devices\""));
  CHECK(eventually([&] { return !fs::exists(site.node.path("k/plugins_registry/nvidia.com_rail1.sock")); }));
  const KubeletResource rail0 = site.kubelet.node().at("nvidia.com/rail0");
  CHECK(rail0.registrations == 1);
  CHECK(rail0.lists == 1);
  CHECK(rail0.allocatable() == 4);
  program.signal(SIGTERM);
  CHECK(program.wait(kDeadline) == 0);
}

TEST_CASE("a broken configuration is logged once, also on HUP, and the last good one stays") {
  Mounted site;
  site.configure(kRail0);
  const Program program(site.node, site.flags());
  REQUIRE(site.kubelet.wait_for("nvidia.com/rail0", 4, kDeadline));
  site.configure(kRail0 + ", no JSON");
  REQUIRE(logs(program, "the last good one stays"));
  program.signal(SIGHUP);
  REQUIRE(logs(program, "reloading the configuration and rescanning the devices"));
  site.configure(kRail0 + ", " + kRail1);
  REQUIRE(site.kubelet.wait_for("nvidia.com/rail1", 4, kDeadline));
  const std::string log = program.log();
  CHECK(log.find("the last good one stays") == log.rfind("the last good one stays"));
  CHECK(site.kubelet.node().at("nvidia.com/rail0").lists == 1);
}

TEST_CASE("the change of a pool is logged with numbers and names") {
  Mounted site;
  site.configure(kRail0);
  const Program program(site.node, site.flags());
  REQUIRE(site.kubelet.wait_for("nvidia.com/rail0", 4, kDeadline));
  site.configure(resource("rail0", "0000:21:00.0#1-3"));
  REQUIRE(site.kubelet.wait_for("nvidia.com/rail0", 3, kDeadline));
  CHECK(logs(program,
             "the devices changed resource=nvidia.com/rail0 change=\"-1 devices\" devices=3 added=\"\" "
             "removed=0000:21:10.0"));
}

TEST_CASE("bundles that lack a device are logged once, and again when others do") {
  Mounted site;
  const auto rails = [](const std::string& first, const std::string& second) {
    return R"({"resourcePrefix": "nvidia.com", "resourceName": "rails", "bundle": true,
               "selectors": {"rootDevices": ["0000:21:00.0#)" +
           first + R"(", "0000:41:00.0#)" + second + R"("]}})";
  };
  site.configure(rails("0-3", "0-1"));
  const Program program(site.node, site.flags());
  REQUIRE(site.kubelet.wait_for("nvidia.com/rails", 2, kDeadline));
  const std::string warning =
      "nvidia.com/rails: bundle-2 bundle-3 are incomplete: rail 0000:41:00.0 has no VF of that index in this "
      "pool resource=nvidia.com/rails device=\"bundle-2 bundle-3\" id=VF-BUNDLE-INCOMPLETE";
  CHECK(logs(program, warning));
  program.signal(SIGHUP);
  site.configure(rails("0", "0-3"));
  CHECK(logs(program, "bundle-1 bundle-2 bundle-3 are incomplete: rail 0000:21:00.0 has no VF"));
  CHECK(count(program.log(), warning) == 1);
}

TEST_CASE("a resource that never had a device is served if it is to be registered empty") {
  const bool served = GENERATE(false, true);
  Pool empty = make_pool({});
  empty.config.register_empty = served;
  const TempDir folder;
  fs::create_directory(folder.path("plugins_registry"));
  Log log;
  (void)log.open_file(folder.path("log"));
  Resources resources({.kubelet_root = folder.path(),
                       .registration = Registration::watcher,
                       .places = {.sys = SysRoot(folder.path()), .device_info_dir = "", .run_dir = ""},
                       .on_registration = [](const std::string&, uint64_t, const RegistrationResult&) {},
                       .on_stream_end = [] {}},
                      log);
  const Time now = std::chrono::steady_clock::now();
  resources.follow({empty}, now);
  resources.run_due(now);
  CHECK(fs::exists(folder.path("plugins_registry/nvidia.com_hostdev.sock")) == served);
  resources.follow({make_pool({"0000:03:02.1"})}, now);
  resources.run_due(now);
  CHECK(fs::exists(folder.path("plugins_registry/nvidia.com_hostdev.sock")));
  resources.follow({empty}, now);
  resources.run_due(now);
  CHECK(fs::exists(folder.path("plugins_registry/nvidia.com_hostdev.sock")));
}

namespace {

// Resources by themselves, with a log to read.
struct Followed {
  explicit Followed(const TempDir& at, Log& log)
      : resources({.kubelet_root = at.path(),
                   .registration = Registration::watcher,
                   .places = {.sys = SysRoot(at.path()), .device_info_dir = "", .run_dir = ""},
                   .on_registration = [](const std::string&, uint64_t, const RegistrationResult&) {},
                   .on_stream_end = [] {}},
                  log),
        file(at.path("log")) {
    fs::create_directories(at.path("plugins_registry"));
    REQUIRE(log.open_file(file));
  }
  // The lines that this adds to the log.
  std::string follow(std::vector<Pool> pools) {
    const size_t before = read_text(file).size();
    const Time now = std::chrono::steady_clock::now();
    resources.follow({pools.begin(), pools.end()}, now);
    resources.run_due(now);
    return read_text(file).substr(before);
  }
  Resources resources;
  const std::string file;
};

}  // namespace

TEST_CASE("a resource that matches no device is logged at start and when it happens, and has a status") {
  const TempDir folder;
  Log log;
  Followed site(folder, log);
  const std::string said = "no device of this node matches the resource resource=nvidia.com/hostdev";
  CHECK(count(site.follow({make_pool({})}), said) == 1);
  CHECK(count(site.follow({make_pool({})}), said) == 0);
  REQUIRE(site.resources.status().size() == 1);
  CHECK(site.resources.status()[0].pool->resource() == "nvidia.com/hostdev");
  CHECK(count(site.follow({make_pool({"0000:03:02.1"})}), "serving resource=nvidia.com/hostdev devices=1") ==
        1);
  REQUIRE(site.resources.status().size() == 1);
  CHECK(site.resources.status()[0].serving);
  CHECK(count(site.follow({make_pool({})}), said) == 1);
  CHECK(count(site.follow({make_pool({})}), said) == 0);
  site.follow({});
  site.follow({});
  CHECK(count(site.follow({make_pool({})}), said) == 1);
}

TEST_CASE("devices that are unhealthy at start are logged, and those that become so") {
  const TempDir folder;
  Log log;
  Followed site(folder, log);
  Pool pool = make_pool({"0000:03:02.1", "0000:03:02.2", "0000:03:02.3"});
  pool.devices[0].fault = pool.devices[2].fault = {FaultCode::port_down, "its port is down"};
  CHECK(count(site.follow({pool}),
              "devices are unhealthy resource=nvidia.com/hostdev devices=\"0000:03:02.1 0000:03:02.3\" "
              "code=port_down reason=\"its port is down\" id=VF-PORT-DOWN") == 1);
  CHECK(site.follow({pool}).empty());
  PoolDevice another = pool.devices[0];
  another.facts.address = PciAddress::parse("0000:03:02.4").value();
  another.facts.id = DeviceId(another.facts.address);
  pool.devices.push_back(another);
  CHECK(count(site.follow({pool}), "devices=0000:03:02.4 code=port_down") == 1);
}

TEST_CASE("a shared device that becomes unhealthy is logged, although the other keeps the units healthy") {
  const TempDir folder;
  Log log;
  Followed site(folder, log);
  Pool pool = make_pool({"0000:03:02.1", "0000:03:02.2"});
  pool.config.unit = UnitKind::shared;
  pool.config.units = 2;
  site.follow({pool});
  CHECK(site.follow({pool}).empty());
  pool.devices[0].fault = {FaultCode::port_down, "its port is down"};
  CHECK(count(site.follow({pool}),
              "devices are unhealthy resource=nvidia.com/hostdev devices=0000:03:02.1") == 1);
  CHECK(site.follow({pool}).empty());
  pool.devices[0].fault = {};
  CHECK(count(site.follow({pool}), "change=\"1 healthy again\"") == 1);
}

TEST_CASE("a resource whose socket has another name now leaves the old one to another resource") {
  const TempDir folder;
  Log log;
  Followed site(folder, log);
  Pool first = make_pool({"0000:03:02.1"}, "first");
  Pool second = make_pool({"0000:03:02.2"}, "second");
  first.config.socket = "x.sock";
  site.follow({first});
  REQUIRE(fs::is_socket(folder.path("plugins_registry/x.sock")));
  first.config.socket.clear();
  second.config.socket = "x.sock";
  CHECK(count(site.follow({second, first}), "serving resource=nvidia.com/") == 2);
  CHECK(fs::is_socket(folder.path("plugins_registry/x.sock")));
  CHECK(fs::is_socket(folder.path("plugins_registry/nvidia.com_first.sock")));
  CHECK(site.follow({second, first}).empty());
}

TEST_CASE("a resource whose socket path is too long is logged once and makes the plugin not ready") {
  const TempDir folder;
  Log log;
  Followed site(folder, log);
  const Pool pool = make_pool({"0000:03:02.1"}, std::string(63, 'x') + std::string(40, 'y'));
  CHECK(count(site.follow({pool}), "cannot serve the resource") == 1);
  CHECK(site.follow({pool}).empty());
  const auto obstacles = find_obstacles({.scanned = true,
                                         .scan_failure = "",
                                         .resources = site.resources.status(),
                                         .left_out = {},
                                         .skipped = {}});
  REQUIRE(obstacles.size() == 1);
  CHECK(obstacles[0].find("107") != std::string::npos);
}

}  // namespace vfrail::test
