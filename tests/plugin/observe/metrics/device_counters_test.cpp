// Where the counters of a device come from, and what is said when they come from nowhere.
#include "plugin/observe/metrics/device_counters.h"

#include "plugin/observe/metrics/pod_namespaces.h"
#include "tests/plugin/tree.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

constexpr const char* kPf = "0000:21:00.0";
constexpr const char* kVf0 = "0000:21:10.0";
constexpr const char* kVf1 = "0000:21:10.2";

// A PF with two VFs, each with an RDMA device, and the sysfs files that count.
class Bench {
 public:
  Bench() : world_(folder_.path()) {
    world_.add_pf(kPf, "enp1s0f0");
    world_.link("enp1s0f0").parent_device = kPf;
    const std::array<std::array<std::string, 3>, 2> vfs{
        {{kVf0, "enp1s0f0v0", "mlx5_0"}, {kVf1, "enp1s0f0v1", "mlx5_1"}}};
    for (const auto& [pci, netdev, rdma] : vfs) {
      world_.add_vf(pci, netdev, kPf);
      world_.add_rdma(pci, rdma);
    }
    // After all changes of the world, which writes its sysfs again with each.
    for (const auto& [pci, netdev, rdma] : vfs) {
      const std::string port = pci + "/infiniband/" + rdma + "/ports/1/";
      file(pci + "/net/" + netdev + "/statistics/rx_bytes", "111");
      file(port + "hw_counters/sent_pkts", "7");
      file(port + "hw_counters/lifespan", "10");
      file(port + "counters/port_rcv_data", "N/A (no PMA)");
      file(port + "counters/port_xmit_data", "4000");
    }
    host_ = world_.open(FakeWorld::kHost);
  }

  FakeWorld& world() { return world_; }
  // As if the device had been moved into a pod: nothing of it is left in the host's sysfs but its verbs node.
  void take_away(const std::string& pci) {
    fs::remove_all(device(pci) + "/net");
    fs::remove_all(device(pci) + "/infiniband");
  }
  void move_below(const std::string& pci, const std::string& child) {
    fs::create_directories(device(pci) + "/" + child);
    fs::rename(device(pci) + "/net", device(pci) + "/" + child + "/net");
  }
  // What the scan saw of its parts in the host.
  void seen(uint32_t vf, const std::string& netdev) { seen_[vf] = netdev; }
  void write(const std::string& below, const std::string& text) {
    fs::create_directories(fs::path(folder_.path(below)).parent_path());
    std::ofstream(folder_.path(below)) << text << "\n";
  }
  void link_netdev(const std::string& netdev, const std::string& pci) {
    const fs::path link = folder_.path("sys/class/net/" + netdev);
    fs::remove_all(link);
    fs::create_directories(link.parent_path());
    fs::create_symlink("../../devices/pci0000:20/" + pci + "/net/" + netdev, link);
  }
  CountersOfDevices read(std::function<PodNamespaces()> pods = {}) {
    Pool pool;
    for (uint32_t vf = 0; vf < 2; ++vf) {
      PoolDevice one;
      one.facts.address = *PciAddress::parse(vf == 0 ? kVf0 : kVf1);
      one.facts.id = DeviceId(one.facts.address);
      one.facts.pf = *PciAddress::parse(kPf);
      one.facts.pf_name = "enp1s0f0";
      one.facts.vf_index = static_cast<int>(vf);
      one.facts.driver = Driver(driver);
      one.facts.rdma_capable = true;
      if (const auto at = seen_.find(vf); at != seen_.end())
        one.facts.netdevs.push_back({.name = *IfName::parse(at->second)});
      pool.devices.push_back(std::move(one));
    }
    return read_device_counters({.sys = SysRoot(folder_.path()),
                                 .kernel = host_.get(),
                                 .pods = std::move(pods),
                                 .memory = memory,
                                 .most_series = most_series,
                                 .in_use = in_use},
                                {PublishedPool(std::move(pool))});
  }
  int questions() const {
    return static_cast<int>(std::count(world_.log().begin(), world_.log().end(), "vf_traffic"));
  }

  std::string driver = "mlx5_core";
  CounterMemory* memory = nullptr;
  size_t most_series = SIZE_MAX;
  const DevicesInUse* in_use = nullptr;

 private:
  std::string device(const std::string& pci) const { return folder_.path("sys/bus/pci/devices/" + pci); }
  void file(const std::string& below, const std::string& text) {
    const fs::path path = folder_.path("sys/bus/pci/devices/") + below;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  TempDir folder_;
  FakeWorld world_;
  std::unique_ptr<Kernel> host_;
  std::map<uint32_t, std::string> seen_;
};

constexpr TrafficCounters kTraffic{
    .rx_packets = 1, .tx_packets = 2, .rx_bytes = 300, .tx_bytes = 400, .rx_dropped = 5, .tx_dropped = 6};

}  // namespace

TEST_CASE("the PF reports the traffic of its VFs, in pods or not, and is asked once") {
  Bench bench;
  bench.world().pf(kPf).traffic[1] = kTraffic;
  bench.take_away(kVf1);
  const auto counters = bench.read();
  CHECK(counters.at(kVf1).traffic == kTraffic);
  CHECK(counters.at(kVf0).traffic == TrafficCounters());
  CHECK(bench.questions() == 1);
}

TEST_CASE("where the PF's driver reports no traffic, the VF's own netdev does") {
  Bench bench;
  const auto counters = bench.read();
  CHECK(counters.at(kVf0).traffic->rx_bytes == 111);
  CHECK_FALSE(counters.at(kVf0).no_traffic);
}

TEST_CASE("the netdev of a virtio device is that of the device below it") {
  Bench bench;
  bench.driver = "virtio-pci";
  bench.move_below(kVf0, "virtio3");
  const auto counters = bench.read();
  CHECK(counters.at(kVf0).traffic->rx_bytes == 111);
  CHECK_FALSE(counters.at(kVf0).no_traffic);
}

TEST_CASE("in a pod, the netdev is searched in the namespaces of pods") {
  Bench bench;
  bench.take_away(kVf0);
  int searches = 0;
  const auto counters = bench.read([&] {
    ++searches;
    PodNamespaces out;
    out.in_reach = true;
    out.netdevs[kVf0] = kTraffic;
    out.rdma["mlx5_0"] = {{.device = "mlx5_0", .port = 1, .counters = {{"sent_pkts", 9}}}};
    return out;
  });
  CHECK(searches == 1);
  CHECK(counters.at(kVf0).traffic == kTraffic);
  REQUIRE(counters.at(kVf0).rdma.size() == 1);
  CHECK(counters.at(kVf0).rdma[0].counters[0].value == 9);
  CHECK(counters.at(kVf1).traffic->rx_bytes == 111);
}

TEST_CASE("what cannot be read has its reason") {
  Bench bench;
  bench.take_away(kVf0);
  SECTION("a pod that this process may not enter, and a PF that reports nothing") {
    const auto counters = bench.read();
    CHECK(counters.at(kVf0).no_traffic == NoCounters::silent_driver);
    CHECK(counters.at(kVf0).no_rdma == NoCounters::pod_out_of_reach);
    CHECK_FALSE(counters.at(kVf0).traffic);
  }
  SECTION("a PF that is not in our network namespace, though a link there has its name") {
    bench.world().link("enp1s0f0").parent_device = "0000:99:00.0";
    bench.world().pf(kPf).traffic[0] = kTraffic;
    const auto counters = bench.read();
    CHECK(counters.at(kVf0).no_traffic == NoCounters::pf_out_of_reach);
    CHECK(bench.questions() == 0);
  }
  SECTION("it is not in any pod either") {
    const auto counters = bench.read([] {
      PodNamespaces out;
      out.in_reach = true;
      return out;
    });
    CHECK(counters.at(kVf0).no_traffic == NoCounters::not_found);
    CHECK(counters.at(kVf0).no_rdma == NoCounters::not_found);
  }
  SECTION("it is bound to vfio") {
    bench.driver = "vfio-pci";
    CHECK(bench.read().at(kVf0).no_traffic == NoCounters::silent_driver);
  }
  SECTION("the kernel refuses the query of the PF") {
    bench.world().forget_faults();
    bench.world().fail_call(2, EOPNOTSUPP, FakeWorld::When::before);
    CHECK(bench.read().at(kVf0).no_traffic == NoCounters::pf_out_of_reach);
    CHECK(bench.questions() == 1);
  }
}

TEST_CASE("bytes of an RDMA device in a pod are those of its sysfs, and without it what netlink has") {
  Bench bench;
  const int pod = bench.world().add_netns("/run/netns/pod");
  for (const char* name : {"mlx5_0", "mlx5_1"}) {
    bench.world().rdma(name).netns = pod;
    bench.world().rdma(name).counters = {{"out_of_sequence", 3}};
  }
  bench.world().rdma("mlx5_0").sysfs_counters = {{"port_rcv_data", 500}, {"out_of_sequence", 3}};
  PodNamespaces out;
  const auto kernel = bench.world().open(pod);
  read_pod_namespace(*kernel, out);
  REQUIRE(out.rdma.at("mlx5_0").size() == 1);
  CHECK(out.rdma.at("mlx5_0")[0].counters.size() == 2);
  REQUIRE(out.rdma.at("mlx5_1").size() == 1);
  REQUIRE(out.rdma.at("mlx5_1")[0].counters.size() == 1);
  CHECK(out.rdma.at("mlx5_1")[0].counters[0].name == "out_of_sequence");
}

TEST_CASE("below another root than the node's own, pods are out of reach unless their folder is mounted") {
  const TempDir folder;
  CHECK_FALSE(read_pod_namespaces(folder.path()).in_reach);
  fs::create_directories(folder.path("run/netns"));
  CHECK(read_pod_namespaces(folder.path()).in_reach);
  // What `ip netns` leaves behind at a reboot, and one whose mount has not arrived here.
  std::ofstream(folder.path("run/netns/gone")) << "";
  CHECK(read_pod_namespaces(folder.path()).in_reach);
}

TEST_CASE("RDMA counters are read from sysfs, those that are numbers") {
  Bench bench;
  const auto counters = bench.read();
  REQUIRE(counters.at(kVf1).rdma.size() == 1);
  const RdmaPortCounters& port = counters.at(kVf1).rdma[0];
  CHECK(port.device == "mlx5_1");
  CHECK(port.port == 1);
  REQUIRE(port.counters.size() == 2);
  CHECK(port.counters[0].name == "port_xmit_data");
  CHECK(port.counters[0].value == 4000);
  CHECK(port.counters[1].name == "sent_pkts");
}

TEST_CASE("the traffic of the host's interfaces comes from one dump, and of another namespace from proc") {
  Bench bench;
  bench.seen(0, "enp1s0f0v0");
  bench.seen(1, "enp1s0f0v1");
  bench.world().link("enp1s0f0v0").parent_device = kVf0;
  bench.world().fake_link(FakeWorld::kHost, "enp1s0f0v0").traffic = kTraffic;
  bench.world().link("enp1s0f0v1").parent_device = "";  // as if it were not in this namespace
  bench.write("proc/1/net/dev",
              "Inter-|   Receive\n face |bytes    packets\n"
              "enp1s0f0v0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
              "enp1s0f0v1: 2000 20 1 3 1 1 1 1 4000 40 2 5 2 2 2 2");
  SECTION("the device has its name still") {
    bench.link_netdev("enp1s0f0v1", kVf1);
    const auto counters = bench.read();
    CHECK(counters.at(kVf0).traffic == kTraffic);
    CHECK(counters.at(kVf1).traffic == TrafficCounters{.rx_packets = 20,
                                                       .tx_packets = 40,
                                                       .rx_bytes = 2000,
                                                       .tx_bytes = 4000,
                                                       .rx_dropped = 3,
                                                       .tx_dropped = 5});
    const auto& log = bench.world().log();
    CHECK(std::count(log.begin(), log.end(), "link_traffic") == 1);
  }
  SECTION("another device has its name now") {
    bench.link_netdev("enp1s0f0v1", kVf0);
    CHECK(bench.read().at(kVf1).traffic->rx_bytes == 111);  // of its own files
  }
}

TEST_CASE("what a device does not have is not asked for again, until the device is another one") {
  Bench bench;
  CounterMemory memory;
  bench.memory = &memory;
  bench.take_away(kVf0);
  CHECK_FALSE(bench.read().at(kVf0).traffic);
  const std::string net = "sys/bus/pci/devices/" + std::string(kVf0) + "/net/enp1s0f0v0";
  bench.write(net + "/statistics/rx_bytes", "222");
  CHECK_FALSE(bench.read().at(kVf0).traffic);
  SECTION("a scan has seen its interface") {
    bench.world().link("enp1s0f0v0").parent_device = "";  // it is in none but its own files
    bench.seen(0, "enp1s0f0v0");
  }
  SECTION("it has another driver") { bench.driver = "mlx4_core"; }
  SECTION("ten minutes later") { memory.begin(CounterMemory::Time::clock::now() + 2 * CounterMemory::kKept); }
  CHECK(bench.read().at(kVf0).traffic->rx_bytes == 222);
}

TEST_CASE("a counter without a number is not read again, and one that is there always is") {
  Bench bench;
  CounterMemory memory;
  bench.memory = &memory;
  CHECK(bench.read().at(kVf0).rdma[0].counters.size() == 2);
  const std::string port = "sys/bus/pci/devices/" + std::string(kVf0) + "/infiniband/mlx5_0/ports/1/";
  bench.write(port + "counters/port_rcv_data", "9");
  bench.write(port + "hw_counters/sent_pkts", "8");
  const auto counters = bench.read();
  REQUIRE(counters.at(kVf0).rdma[0].counters.size() == 2);
  CHECK(counters.at(kVf0).rdma[0].counters[1].name == "sent_pkts");
  CHECK(counters.at(kVf0).rdma[0].counters[1].value == 8);
}

TEST_CASE("an RDMA device that has gone to a pod since the last scrape is searched there") {
  Bench bench;
  CounterMemory memory;
  bench.memory = &memory;
  CHECK(bench.read().at(kVf0).rdma.size() == 1);
  bench.take_away(kVf0);
  const auto counters = bench.read([] {
    PodNamespaces out;
    out.in_reach = true;
    out.rdma["mlx5_0"] = {{.device = "mlx5_0", .port = 1, .counters = {{"sent_pkts", 9}}}};
    return out;
  });
  REQUIRE(counters.at(kVf0).rdma.size() == 1);
  CHECK(counters.at(kVf0).rdma[0].counters[0].value == 9);
}

TEST_CASE("counters of RDMA devices are read while there is room for them, of devices in use first") {
  Bench bench;
  bench.most_series = 12;  // one device has eight
  DevicesInUse in_use;
  in_use.resources["intel.com/"][kVf1] = {"ml", "train-0", "main"};
  Pool unnamed;
  in_use.resources[unnamed.resource()] = in_use.resources["intel.com/"];
  bench.in_use = &in_use;
  const auto counters = bench.read();
  CHECK(counters.at(kVf1).rdma[0].counters.size() == 2);
  CHECK(counters.at(kVf1).unread_series == 0);
  CHECK(counters.at(kVf0).rdma.empty());
  CHECK(counters.at(kVf0).unread_series == 3);  // one of them may have no number
  CHECK_FALSE(counters.at(kVf0).no_rdma);
}

}  // namespace vfrail::test
