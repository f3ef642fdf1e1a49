// The announcement of addresses on the fake kernel: when it is made, and what it waits for.
#include "cni/steps.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/temp_dir.h"

#include <cerrno>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Strings = std::vector<std::string>;

// A VF in the pod, up, with two IPv4 addresses and one IPv6 address.
struct Attached {
  TempDir dir;
  FakeWorld fake{dir.path("root")};
  int netns = fake.add_netns("/run/netns/a");
  std::unique_ptr<Kernel> host = fake.open(FakeWorld::kHost);
  std::unique_ptr<Kernel> pod = fake.open(netns);
  Log log;
  World world{*host, SysRoot(dir.path("root")), *RecordStore::open(dir.path("state")), dir.path("run"), {},
              log};
  Record record;
  Assignment assignment;
  Link link;

  Attached() {
    log.set_level(LogLevel::error);
    record.device = *DeviceId::parse("0000:21:10.0");
    for (const char* address : {"10.9.0.2/24", "fd00::2/64", "10.9.0.3/24"}) {
      assignment.ips.push_back({*IpAddress::parse_cidr(address), std::nullopt});
    }
    fake.add_vf("0000:21:10.0", "vf0");
    link = fake.link("vf0");
    REQUIRE(host->change_link(link.index, {.netns_fd = pod->netns_fd(), .name = "net1", .up = true}));
    link = **pod->find_link("net1");
    REQUIRE(link.carrier());
    fake.forget_faults();
  }
  void without_carrier() {
    link.flags &= ~0x10000U;
    fake.set_flags(netns, "net1", link.flags);
  }
  void announce() { vfrail::announce(*pod, link, assignment, record, world); }
};

}  // namespace

TEST_CASE("With a carrier each IPv4 address is announced, in one call of the kernel") {
  Attached a;
  a.announce();
  CHECK(a.fake.announced == Strings{"10.9.0.2 at " + a.link.mac.text(), "10.9.0.3 at " + a.link.mac.text()});
  CHECK(a.fake.log() == Strings{"announce"});
}

TEST_CASE("Hardware that has no carrier yet is waited for") {
  Attached a;
  a.without_carrier();
  SECTION("and gets one") {
    a.fake.while_waiting = [&] { a.fake.set_flags(a.netns, "net1", a.link.flags | 0x10000U); };
    a.announce();
    CHECK(a.fake.announced.size() == 2);
  }
  SECTION("and gets none") {
    a.announce();
    CHECK(a.fake.announced.empty());
    CHECK(a.fake.log().front() == "wait_for_link");
  }
}

TEST_CASE("What cannot get a carrier is not waited for") {
  Attached a;
  a.without_carrier();
  SECTION("a virtual link, whose other end is down") { a.link.kind = "veth"; }
  SECTION("a link that is down itself") { a.link.flags = 0; }
  SECTION("a VF whose port is down") {
    write_tree(a.dir.path("root"), "sys/bus/pci/devices/0000:21:10.0/physfn/net/pf0/operstate = down");
  }
  a.announce();
  CHECK(a.fake.announced.empty());
  CHECK(a.fake.log().empty());
}

TEST_CASE("A VF without carrier is waited for when one port of its PF is not down") {
  Attached a;
  a.without_carrier();
  write_tree(a.dir.path("root"),
             "sys/bus/pci/devices/0000:21:10.0/physfn/net/pf0/operstate = up\n"
             "sys/bus/pci/devices/0000:21:10.0/physfn/net/pf0vf0/operstate = down");
  a.announce();
  CHECK(a.fake.log().front() == "wait_for_link");
}

TEST_CASE("What has no IPv4 neighbours is not announced") {
  Attached a;
  SECTION("InfiniBand") { a.link.type = 32; }
  SECTION("no ARP") { a.link.flags |= 0x80; }
  SECTION("IPv6 only, which the kernel announces") { a.assignment.ips = {a.assignment.ips[1]}; }
  SECTION("no address") { a.assignment.ips.clear(); }
  a.announce();
  CHECK(a.fake.log().empty());
}

TEST_CASE("An announcement that fails is no error") {
  Attached a;
  a.fake.fail_call(1, EPERM, FakeWorld::When::before);
  a.announce();
  CHECK(a.fake.announced.empty());
}

}  // namespace vfrail::test
