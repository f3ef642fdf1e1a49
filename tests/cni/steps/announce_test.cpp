// The announcement of addresses on the fake kernel: what is announced, and that it fails nothing.
#include "cni/steps/steps.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/temp_dir.h"

#include <cerrno>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

using Strings = std::vector<std::string>;

// An interface with two IPv4 addresses and one IPv6 address.
struct Configured {
  TempDir dir;
  FakeWorld fake{dir.path("root")};
  std::unique_ptr<Kernel> kernel = fake.open(FakeWorld::kHost);
  Assignment assignment;
  Link link;
  Log log;

  Configured() {
    log.set_level(LogLevel::error);
    fake.add_vf("0000:21:10.0", "net1");
    link = fake.link("net1");
    for (const char* address : {"10.9.0.2/24", "fd00::2/64", "10.8.0.3/24"}) {
      assignment.ips.push_back({*IpAddress::parse_cidr(address), std::nullopt});
    }
  }
  void announce() { vfrail::cni::announce(*kernel, link, assignment, log); }
};

}  // namespace

TEST_CASE("Each IPv4 address is announced without waiting") {
  Configured a;
  a.announce();
  CHECK(a.fake.announced == Strings{"10.9.0.2 at " + a.link.mac.text(), "10.8.0.3 at " + a.link.mac.text()});
  CHECK(a.fake.log() == Strings{"announce 10.9.0.2", "announce 10.8.0.3"});
}

TEST_CASE("An interface without IPv4 neighbours is not announced") {
  Configured a;
  SECTION("no ARP") { a.link.flags |= 0x80; }
  SECTION("IPv6 only, which the kernel announces") { a.assignment.ips = {a.assignment.ips[1]}; }
  SECTION("no address") { a.assignment.ips.clear(); }
  a.announce();
  CHECK(a.fake.log().empty());
}

TEST_CASE("An announcement that fails is no error") {
  Configured a;
  a.fake.fail_call(1, EPERM, FakeWorld::When::before);
  a.announce();
  CHECK(a.fake.announced == Strings{"10.8.0.3 at " + a.link.mac.text()});
}

}  // namespace vfrail::test
