// The contract on the real kernel: with a veth in fresh namespaces, or with the link and the RDMA device that
// the environment names (the lab: VFRAIL_CONTRACT_LINK, VFRAIL_CONTRACT_RDMA, VFRAIL_CONTRACT_PF for VF 3 of
// it).
#include "common/netlink/netlink_kernel.h"
#include "tests/support/kernel_contract.h"

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

}  // namespace

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
                         variable("VFRAIL_CONTRACT_PF"), 3});
  shell("ip netns del " + pod);
}

}  // namespace vfrail::test
