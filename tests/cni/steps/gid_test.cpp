// The order of addresses and the wait for their GID on the fake kernel: in whatever order pods come and go,
// the GID of a pod's address has one index.
#include "cni/steps/address_steps.h"
#include "cni/steps/gid_step.h"
#include "tests/support/deadline.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/opens.h"
#include "tests/support/temp_dir.h"

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

using std::chrono::milliseconds;

// Two devices of a node, whose RDMA devices have so many RoCE types, and two pods.
struct GidBench {
  explicit GidBench(int types) {
    for (const std::string& pci : pcis) {
      fake.add_vf(pci, "eth" + pci.substr(11));
      fake.add_rdma(pci, "mlx5_" + pci.substr(11));
      fake.rdma("mlx5_" + pci.substr(11)).gids = FakeGids(types);
    }
    for (const char* path : {"/a", "/b"}) pods.push_back(fake.open(fake.add_netns(path)));
    log.set_level(LogLevel::error);
  }

  // As ADD does it, with these addresses of IPAM: the index of the GID.
  uint32_t attach(size_t device, size_t pod, const std::vector<IpAddress>& ips, size_t next_mac) {
    const Link before = fake.link("eth" + pcis[device].substr(11));
    LinkChange change{.netns_fd = pods[pod]->netns_fd(), .name = ifname(device), .up = true, .eui64 = true};
    if (next_mac % 2 == 1)
      change.mac =
          MacAddress{{2, 0, 0, 0, static_cast<uint8_t>(next_mac >> 8), static_cast<uint8_t>(next_mac)}};
    REQUIRE(host->change_link(before.index, change));
    const auto link = **pods[pod]->find_link(ifname(device));
    Assignment assignment;
    for (const IpAddress& one : ips) assignment.ips.push_back({one, std::nullopt});
    REQUIRE(configure_pod(*pods[pod], link, assignment, {}, std::nullopt));
    const RdmaDevice rdma = fake.rdma("mlx5_" + pcis[device].substr(11)).device;
    REQUIRE(host->move_rdma_device(rdma.index, pods[pod]->netns_fd()));
    Record record;
    record.attachment = {"c", ifname(device)};
    record.device = *DeviceId::parse(pcis[device]);
    record.rdma = {{rdma.name, rdma.name, rdma.index}};
    const InPod in_pod{.mac = {}, .addresses = ips, .rdma = rdma.name, .link_layer = "Ethernet"};
    const auto found = wait_for_gid(record, in_pod, milliseconds(20), *pods[pod], world);
    REQUIRE(found);
    REQUIRE(found->place);
    CHECK(found->place->expected == found->place->index);
    return found->place->index;
  }
  void detach(size_t device, size_t pod) {
    const RdmaDevice rdma = fake.rdma("mlx5_" + pcis[device].substr(11)).device;
    REQUIRE(pods[pod]->move_rdma_device(rdma.index, host->netns_fd()));
    const auto link = **pods[pod]->find_link(ifname(device));
    REQUIRE(pods[pod]->change_link(
        link.index, {.netns_fd = host->netns_fd(), .name = "eth" + pcis[device].substr(11), .up = false}));
  }
  static IfName ifname(size_t device) { return *IfName::parse("net" + std::to_string(device)); }

  TempDir dir;
  FakeWorld fake{dir.path("root")};
  std::vector<std::string> pcis{"0000:21:10.0", "0000:21:10.2"};
  std::unique_ptr<Kernel> host = fake.open(FakeWorld::kHost);
  std::vector<std::unique_ptr<Kernel>> pods;
  Log log;
  World world{*host,
              SysRoot(dir.path("root")),
              *RecordStore::open(dir.path("state"), dir.path("locks")),
              dir.path("run"),
              [this](const std::string& path) { return fake.open_path(path); },
              log};
};

// At least one IPv4 address among up to four, in any order.
std::vector<IpAddress> some_addresses(std::mt19937& random) {
  std::vector<IpAddress> out;
  const size_t count = 1 + random() % 4;
  for (size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(1 + random() % 9) + std::to_string(i);
    const bool v6 = i > 0 && random() % 2 == 0;
    out.push_back(*IpAddress::parse_cidr(v6 ? "fd00::" + number + "/64" : "10.0.0." + number + "/24"));
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

// A record and a port folder of a device that stays in the host, as in shared mode.
struct Stayed : GidBench {
  Stayed() : GidBench(2) {
    fake.rdma_mode = RdmaNetnsMode::shared;
    record.attachment = {"c", "net1"};
    record.device = *DeviceId::parse(pcis[0]);
  }
  Result<GidSearch> wait(milliseconds at_most) {
    return wait_for_gid(record, in_pod, at_most, *pods[0], world);
  }
  std::string port() const {
    return dir.path("root/sys/bus/pci/devices/" + pcis[0] + "/infiniband/mlx5_0/ports/1");
  }

  Record record;
  InPod in_pod{.mac = {},
               .addresses = {*IpAddress::parse_cidr("fd00::2/64"), *IpAddress::parse_cidr("10.0.0.2/24")},
               .rdma = "mlx5_0",
               .link_layer = "Ethernet"};
  FakeGids gids;
  MacAddress mac = *MacAddress::parse("02:00:00:00:00:01");
};

}  // namespace

// Static IPAM with a route as it is and with the network's gateway: the kernel refuses the second (EEXIST).
TEST_CASE("a route that the answer of IPAM has twice is added once") {
  GidBench bench(1);
  Assignment assignment;
  const auto gateway = *IpAddress::parse("10.0.0.1");
  assignment.ips.push_back({*IpAddress::parse_cidr("10.0.0.5/24"), gateway});
  AssignedRoute route;
  route.destination = *IpAddress::parse_cidr("10.9.0.0/16");
  assignment.routes = {route, route};
  assignment.routes[1].gateway = gateway;
  Link& link = bench.fake.link("eth0");
  link.flags |= 1U;  // IFF_UP
  REQUIRE(configure_pod(*bench.host, link, assignment, {}, std::nullopt));
  const auto routes = bench.host->routes(link.index);
  REQUIRE(routes);
  CHECK(std::count_if(routes->begin(), routes->end(),
                      [&](const Route& one) { return one.destination == route.destination; }) == 1);
}

TEST_CASE("in 1,000 random orders of ADD and DEL the GID of a pod's address keeps its index") {
  const auto [types, index] = GENERATE(table<int, uint32_t>({{2, 3}, {1, 1}}));
  const unsigned seed = 20240807;
  CAPTURE(types, seed);
  std::mt19937 random(seed);
  GidBench bench(types);
  std::vector<std::optional<size_t>> pod_of{std::nullopt, std::nullopt};
  for (size_t step = 0; step < 1000; ++step) {
    const size_t device = random() % 2;
    CAPTURE(step, device);
    if (pod_of[device]) {
      bench.detach(device, *pod_of[device]);
      pod_of[device].reset();
    } else {
      pod_of[device] = random() % 2;
      REQUIRE(bench.attach(device, *pod_of[device], some_addresses(random), step) == index);
    }
  }
}

TEST_CASE("the order of IPAM is kept within each family") {
  GidBench bench(2);
  std::vector<IpAddress> ips;
  for (const char* one : {"fd00::9/64", "10.0.0.9/24", "fd00::1/64", "10.0.0.1/24"})
    ips.push_back(*IpAddress::parse_cidr(one));
  bench.attach(0, 0, ips, 0);
  std::vector<std::string> added;
  for (const std::string& call : bench.fake.log())
    if (call.starts_with("add_address ")) added.push_back(call.substr(12));
  CHECK(added == std::vector<std::string>{"10.0.0.9/24", "10.0.0.1/24", "fd00::9/64", "fd00::1/64"});
}

TEST_CASE("a GID that comes late is waited for, one that does not come is none") {
  Stayed s;
  s.gids.follow(s.mac, "net1", {});
  s.gids.write(s.port());
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(s.wait(milliseconds(30))->place);
  CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(30));
  const Opens searches(s.port() + "/gids/0");
  std::thread kernel([&] {
    for (int i = 0; i < 2; ++i) (void)searches.next(kDeadline);  // the first one has found nothing
    s.gids.follow(s.mac, "net1", s.in_pod.addresses);
    // An entry has its attributes before its GID shows, as in the kernel.
    s.gids.write(s.dir.path("new"));
    for (const char* part : {"gid_attrs/types", "gid_attrs/ndevs", "gids"}) {
      for (const char* entry : {"/2", "/3", "/4", "/5"})
        std::filesystem::rename(s.dir.path("new/") + part + entry, s.port() + "/" + part + entry);
    }
  });
  const auto found = s.wait(milliseconds(60'000));
  kernel.join();
  REQUIRE(found);
  REQUIRE(found->place);
  CHECK(found->place->index == 5);  // of the IPv4 address, which came second here
}

TEST_CASE("nothing is waited for where there is no GID to come") {
  Stayed s;
  SECTION("no address") { s.in_pod.addresses.clear(); }
  SECTION("no RDMA device") { s.in_pod.rdma.clear(); }
  SECTION("no table") { s.in_pod.rdma = "mlx5_9"; }
  const auto found = s.wait(milliseconds(60'000));
  REQUIRE(found);
  CHECK_FALSE(found->has_table);
}

}  // namespace vfrail::test
