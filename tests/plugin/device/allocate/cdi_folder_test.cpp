#include "plugin/device/allocate/cdi_folder.h"

#include "common/container/allocated_unit.h"
#include "plugin/device/allocate/cdi.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>

using namespace vfrail::plugin;

namespace vfrail {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

CdiSpec make_spec(const std::string& device = "0000:03:02.1", const std::string& node = "/dev/x") {
  return {"nvidia.com/net-pci", device, {.nodes = {{node, node, "rw"}}}};
}

void touch(const std::string& path) { std::ofstream(path) << "{}"; }

Texts files(const std::string& folder) {
  Texts out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("the CDI folder is created, readable for all") {
  const test::TempDir dir;
  REQUIRE(open_cdi_folder(dir.path("run/cdi")));
  CHECK((fs::status(dir.path("run/cdi")).permissions() & fs::perms::others_read) != fs::perms::none);
  CHECK(open_cdi_folder(dir.path("run/cdi")));
}

TEST_CASE("a CDI folder that cannot be created is an error with the remedy") {
  const test::TempDir dir;
  touch(dir.path("file"));
  const auto opened = open_cdi_folder(dir.path("file/cdi"));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().text.find(dir.path("file/cdi")) != std::string::npos);
  CHECK(opened.error().text.find("mount") != std::string::npos);
}

TEST_CASE("whether a runtime reads the CDI folder is seen, and nothing of it stays") {
  const test::TempDir dir;
  const std::string folder = dir.path("cdi");
  REQUIRE(open_cdi_folder(folder));
  CHECK(find_no_reader(folder, std::chrono::milliseconds{20})
            .find("no container runtime has read a spec that was written there") == 0);
  CHECK(files(folder).empty());
  std::string spec;
  std::thread runtime([&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (spec.empty() && std::chrono::steady_clock::now() < until) {
      for (const std::string& name : files(folder)) {
        if (!name.ends_with(".json")) continue;
        std::stringstream text;
        text << std::ifstream(folder + "/" + name).rdbuf();
        spec = text.str();
      }
    }
  });
  CHECK(find_no_reader(folder, std::chrono::seconds{30}).empty());
  runtime.join();
  CHECK(files(folder).empty());
  // It is one that CDI's library takes: a faulty file would be an error of the runtime.
  const auto parsed = parse_cdi_spec(spec);
  REQUIRE(parsed);
  CHECK(parsed->edits.env.contains("VFRAIL_RUNTIME_CHECK"));
}

TEST_CASE("at start only our temporary files are removed, and only if nobody can be writing them") {
  const test::TempDir dir;
  const Texts stay{"nvidia.com-gpu.yaml", "other.json.new.5", "sriov-dp-nvidia.com-net-pci-hostdev.yaml",
                   "vfrail-nvidia.com-net-pci-0000:03:02.1.json",
                   "vfrail-nvidia.com-net-pci-0000:03:02.2.json.new"};
  for (const std::string& name : stay) touch(dir.path(name));
  const Texts abandoned{"vfrail-nvidia.com-net-pci-0000:03:02.1.json.new",
                        "vfrail-vfrail.io-runtime-check-7.json",
                        "vfrail-nvidia.com-net-pci-0000:03:02.1.json.new.7"};
  for (const std::string& name : abandoned) touch(dir.path(name));
  for (const std::string& name : {stay[1], abandoned[0], abandoned[1], abandoned[2]})
    fs::last_write_time(dir.path(name), fs::file_time_type::clock::now() - std::chrono::hours{1});
  REQUIRE(open_cdi_folder(dir.path()));
  CHECK(files(dir.path()) == stay);
}

TEST_CASE("a spec is removed with its device, and no file of others") {
  const test::TempDir dir;
  for (const char* name :
       {"vfrail-nvidia.com-net-pci-0000:03:02.1.json", "vfrail-nvidia.com-net-pci-0000:03:02.2.json",
        "vfrail-my-own.com-net-sf-mlx5_core.sf.4.json", "vfrail-my-own.com-net-sf-mlx5_core.sf.14.json",
        "vfrail-nvidia.com-net-rdma-rdma:hca-a:0000:03:02.1.json",
        "vfrail-nvidia.com-net-rdma-rdma:hca-a:0000:03:02.2.json", "nvidia.com-net-pci-0000:03:02.2.json"})
    touch(dir.path(name));
  const auto gone = remove_specs_of_gone_devices(
      dir.path(), {{"0000:03:02.1", "mlx5_core.sf.4"}, DevicesInUse(), SysRoot(dir.path("root"))});
  CHECK(gone.size() == 3);
  CHECK(files(dir.path()) == Texts{"nvidia.com-net-pci-0000:03:02.2.json",
                                   "vfrail-my-own.com-net-sf-mlx5_core.sf.4.json",
                                   "vfrail-nvidia.com-net-pci-0000:03:02.1.json",
                                   "vfrail-nvidia.com-net-rdma-rdma:hca-a:0000:03:02.1.json"});
}

TEST_CASE("the spec of a claim is no device's: it stays until the claim is unprepared") {
  const test::TempDir dir;
  const std::string name = CdiSpec{kClaimCdiKind, "2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11-nic", {}}.file_name();
  touch(dir.path(name));
  CHECK(remove_specs_of_gone_devices(dir.path(), {{}, DevicesInUse(), SysRoot(dir.path("root"))}).empty());
  CHECK(files(dir.path()) == Texts{name});
}

TEST_CASE("the spec of a device that is gone stays while a container has it, or if it is back already") {
  const test::TempDir dir;
  const Texts stay{"vfrail-nvidia.com-net-pci-0000:03:02.1.json",
                   "vfrail-nvidia.com-net-pci-0000:03:02.3.json",
                   "vfrail-nvidia.com-net-pci-0000:03:02.4.json",
                   "vfrail-nvidia.com-net-rdma-rdma:hca-a:0000:03:00.0.json"};
  for (const std::string& name : stay) touch(dir.path(name));
  touch(dir.path("vfrail-nvidia.com-net-pci-0000:03:02.2.json"));
  touch(dir.path("vfrail-nvidia.com-net-rdma-rdma:hca-b:0000:03:00.0.json"));
  DevicesInUse in_use;
  in_use.resources["nvidia.com/no-longer-configured"]["0000:03:02.1"] = {"default", "p", "c"};
  in_use.resources["rdma/hca-a"]["17"] = {"default", "p", "c"};  // a unit of a shared pool
  const test::TempDir node;
  test::write_tree(node.path(),
                   "sys/bus/pci/devices/0000:03:02.3/\n"
                   "sys/bus/pci/devices/0000:03:02.4 -> 0000:03:02.4\n");  // cannot be found out
  const auto gone = remove_specs_of_gone_devices(dir.path(), {{}, in_use, SysRoot(node.path())});
  CHECK(gone.size() == 2);
  CHECK(files(dir.path()) == stay);
}

TEST_CASE(
    "the specs of a bundle stay while a container has its unit, also if the pool has lost the devices") {
  const test::TempDir dir;
  const std::string run = dir.path("run");
  const auto allocated = [&](const char* unit, const char* resource, const char* device) {
    REQUIRE(write_allocated_unit(run, {unit, resource, {*DeviceId::parse(device)}}));
    touch(dir.path("cdi/vfrail-nvidia.com-net-pci-" + std::string(device) + ".json"));
  };
  fs::create_directories(dir.path("cdi"));
  allocated("bundle-3", "nvidia.com/rails", "0000:03:02.1");
  allocated("bundle-4", "nvidia.com/rails", "0000:03:02.2");
  allocated("bundle-3", "nvidia.com/others", "0000:03:02.3");
  DevicesInUse in_use;
  in_use.resources["nvidia.com/rails"]["bundle-3"] = {"default", "p", "c"};
  const KnownDevices known{{}, in_use, SysRoot(dir.path("root")), run};
  SECTION("those of a free unit are removed") {
    CHECK(remove_specs_of_gone_devices(dir.path("cdi"), known).size() == 2);
    CHECK(files(dir.path("cdi")) == Texts{"vfrail-nvidia.com-net-pci-0000:03:02.1.json"});
  }
  SECTION("none is removed if it is not known which devices the unit has") {
    for (const auto& entry : fs::directory_iterator(run + "/promised")) std::ofstream(entry.path()) << "{";
    CHECK(remove_specs_of_gone_devices(dir.path("cdi"), known).empty());
  }
}

TEST_CASE("concurrently written specs of one device are complete at every moment") {
  const test::TempDir dir;
  REQUIRE(put_cdi_spec(dir.path(), make_spec()));
  std::vector<std::thread> writers;
  std::vector<int> failures(4);
  for (size_t i = 0; i < failures.size(); ++i) {
    writers.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) {
        if (!put_cdi_spec(dir.path(), make_spec("0000:03:02.1", "/dev/x" + std::to_string(i)))) ++failures[i];
      }
    });
  }
  int broken = 0;
  for (int n = 0; n < 500; ++n) {
    const auto spec = read_cdi_spec(dir.path(make_spec().file_name()));
    if (!spec || !*spec || (*spec)->edits.nodes.size() != 1) ++broken;
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(broken == 0);
  CHECK(std::count(failures.begin(), failures.end(), 0) == 4);
  CHECK(files(dir.path()) == Texts{make_spec().file_name()});
}

}  // namespace vfrail
