// The contract on the real kernel: with a veth in fresh namespaces, or with the link and the RDMA device that
// the environment names (the lab: VFRAIL_CONTRACT_LINK, VFRAIL_CONTRACT_RDMA, VFRAIL_CONTRACT_PF for VF 3 of
// it).
#include "common/files.h"
#include "common/kernel/btf.h"
#include "common/netlink/netlink_kernel.h"
#include "tests/support/kernel_contract.h"
#include "tests/support/places.h"

#include <cstdlib>
#include <sched.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {

namespace {

void shell(const std::string& command) {
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<UpperOffsets> upper_offsets() {
  auto btf = read_file("/sys/kernel/btf/vmlinux", Btf::kMaxBytes);
  REQUIRE(btf);
  if (!*btf) {
    WARN("this kernel has no /sys/kernel/btf/vmlinux: what stands on a link is not checked");
    return std::nullopt;
  }
  const auto found = find_upper_offsets(std::move(**btf));
  INFO((found ? std::string() : found.error().text));
  REQUIRE(found);
  return *found;
}

// The kernel's own words and the errno come behind it.
template <class T>
bool begins(const Result<T>& refused, const std::string& request) {
  REQUIRE_FALSE(refused.ok());
  UNSCOPED_INFO(refused.error().text);
  return refused.error().text.starts_with(request + ": ") && refused.error().sys != 0;
}

}  // namespace

TEST_CASE("an error of the real kernel names the request and its object") {
  REQUIRE(geteuid() == 0);
  REQUIRE(unshare(CLONE_NEWNET) == 0);
  const auto opened = NetlinkKernel::open_current();
  REQUIRE(opened);
  Kernel& kernel = **opened;
  const IpAddress address = *IpAddress::parse_cidr("192.0.2.1/24");
  CHECK(begins(kernel.find_link(-5), "read link -5"));
  CHECK(begins(kernel.change_link(77, {.up = true}), "change link 77"));
  CHECK(begins(kernel.change_vf(77, 0, {.trust = true}), "change link 77"));
  CHECK(begins(kernel.vfs(77), "read the VFs of link 77"));
  CHECK(begins(kernel.add_altname(77, "rail0"), "add alternative name rail0 to link 77"));
  CHECK(begins(kernel.remove_altname(77, "rail0"), "remove alternative name rail0 from link 77"));
  CHECK(begins(kernel.remove_links({1}), "remove link 1"));
  CHECK(begins(kernel.add_address(77, address), "add address 192.0.2.1/24 to link 77"));
  CHECK(begins(kernel.announce(77, address), "announce 192.0.2.1 on link 77"));
  Route route;
  route.destination = *IpAddress::parse_cidr("198.51.100.0/24");
  route.gateway = address;
  route.link = 77;
  route.table = 1000;
  CHECK(begins(kernel.add_route(route), "add route 198.51.100.0/24 via 192.0.2.1 on link 77 in table 1000"));
  CHECK(begins(kernel.remove_rule({address, 1000, 7}), "remove rule from 192.0.2.1/24 to table 1000"));
  const auto never =
      kernel.wait_for_link(std::chrono::steady_clock::now(), [] { return Result<bool>(false); });
  CHECK(begins(never, "wait for a change of a link"));
}

TEST_CASE("the real kernel keeps the contract") {
  REQUIRE(geteuid() == 0);  // namespaces and moves need root; not skipped, because nothing else shows this
  std::string link = variable("VFRAIL_CONTRACT_LINK");
  if (link.empty()) {
    link = "contract0";
    REQUIRE(unshare(CLONE_NEWNET) == 0);
    shell("ip link add contract0 type veth peer name contract0p");
  }
  const std::string pod = "contract" + std::to_string(getpid());
  shell("ip netns add " + pod);
  const auto host_kernel = NetlinkKernel::open_current();
  REQUIRE(host_kernel);
  auto netns = Netns::open("/run/netns/" + pod);
  REQUIRE(netns);
  REQUIRE(netns->has_value());
  const auto pod_kernel = NetlinkKernel::open(std::move(**netns));
  REQUIRE(pod_kernel);
  check_kernel_contract({**host_kernel, **pod_kernel, link, variable("VFRAIL_CONTRACT_RDMA"),
                         [&](const std::string& name) {
                           shell("ip -n " + pod + " link add " + name + " type veth peer name other0");
                         },
                         // In the lab it is beside this program.
                         [](const std::string& name) {
                           shell("PATH=" + program_path() + ":$PATH attach_program generic " + name);
                         },
                         upper_offsets(), variable("VFRAIL_CONTRACT_PF"), 3});
  shell("ip netns del " + pod);
}

}  // namespace vfrail::test
