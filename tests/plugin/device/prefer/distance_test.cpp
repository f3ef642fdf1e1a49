#include "plugin/device/prefer/distance.h"

#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

const Gpu& gpu(const Inventory& inventory, const std::string& address) {
  for (const Gpu& candidate : inventory.gpus) {
    if (candidate.address.text() == address) return candidate;
  }
  FAIL("there is no GPU " << address);
  throw std::logic_error("FAIL returned");
}

// The words between a function and each of some others, GPUs or functions.
std::string words(const Inventory& inventory, const std::string& from,
                  const std::vector<std::string>& others) {
  const Place here = place_of(test::function(inventory, from));
  std::string out;
  for (const std::string& other : others) {
    const bool is_gpu = std::any_of(inventory.gpus.begin(), inventory.gpus.end(),
                                    [&](const Gpu& each) { return each.address.text() == other; });
    const Place there = is_gpu ? place_of(gpu(inventory, other)) : place_of(test::function(inventory, other));
    CHECK(distance(here, there) == distance(there, here));
    out += (out.empty() ? "" : " ") + std::string(word(distance(here, there)));
  }
  return out;
}

}  // namespace

TEST_CASE("on a DGX A100 the distances are those that nvidia-smi prints") {
  const Inventory inventory = Tree("dgx_a100").scan();
  // The row of mlx5_0: GPU0 to GPU7, then mlx5_0 to mlx5_11 without itself.
  CHECK(words(inventory, "0000:0c:00.0",
              {"0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0", "0000:87:00.0", "0000:90:00.0",
               "0000:b7:00.0", "0000:bd:00.0"}) == "PXB PXB SYS SYS SYS SYS SYS SYS");
  CHECK(words(inventory, "0000:0c:00.0",
              {"0000:12:00.0", "0000:4b:00.0", "0000:61:00.0", "0000:61:00.1", "0000:8d:00.0"}) ==
        "PXB SYS SYS SYS SYS");
}

TEST_CASE("on a DGX H100 a NIC is PIX to its GPU, and its VFs are where it is") {
  const Inventory inventory = Tree("dgx_h100").scan();
  for (const char* port : {"0000:40:00.0", "0000:40:00.1", "0000:40:00.2"}) {
    CHECK(words(inventory, port, {"0000:1b:00.0", "0000:43:00.0", "0000:9d:00.0"}) == "NODE PIX SYS");
  }
  CHECK(words(inventory, "0000:40:00.1", {"0000:40:00.0", "0000:40:00.2", "0000:18:00.1", "0000:9a:00.1"}) ==
        "CARD CARD NODE SYS");
}

TEST_CASE("the two ports of a card are one card, also through their VFs") {
  const Inventory inventory = Tree("two_sockets").scan();
  CHECK(words(inventory, "0000:17:00.2", {"0000:17:01.5", "0000:31:00.2", "0000:b1:00.2"}) ==
        "CARD NODE SYS");
}

TEST_CASE("ports of one host bridge are PHB; functions on it, as virtual machines have them, too") {
  Tree tree("");
  tree.add(R"(
pci pci0000:10/0000:10:01.0/0000:11:00.0 class=0x020000 vendor=15b3 device=1 numa=0
pci pci0000:10/0000:10:02.0/0000:12:00.0 class=0x030200 vendor=10de device=1 numa=0
pci pci0000:00/0000:00:05.0 class=0x020000 vendor=15b3 device=1
pci pci0000:00/0000:00:05.1 class=0x020000 vendor=15b3 device=1
pci pci0000:00/0000:00:06.0 class=0x020000 vendor=15b3 device=1
)");
  const Inventory inventory = tree.scan();
  CHECK(words(inventory, "0000:11:00.0", {"0000:12:00.0"}) == "PHB");
  CHECK(words(inventory, "0000:00:05.0", {"0000:00:05.1", "0000:00:06.0"}) == "CARD PHB");
}

TEST_CASE("where a function's path is not known only its NUMA node counts") {
  DeviceFacts a;
  a.address = *PciAddress::parse("0000:11:00.0");
  a.id = DeviceId(a.address);
  DeviceFacts b;
  b.address = *PciAddress::parse("0000:12:00.0");
  b.id = DeviceId(b.address);
  CHECK(distance(place_of(a), place_of(b)) == Distance::node);  // both nodes unknown: a machine with one
  b.numa_node = 1;
  CHECK(distance(place_of(a), place_of(b)) == Distance::sys);
  b.pf = a.address;
  CHECK(distance(place_of(a), place_of(b)) == Distance::card);
}

TEST_CASE("GPUs are found by class, without the VGA of the BMC and without VFs of GPUs") {
  Tree tree("two_sockets");
  CHECK(tree.scan().gpus.empty());
  tree.add(R"(
pci pci0000:b0/0000:b0:05.0/0000:b7:00.0 class=0x120000 vendor=1002 device=74a1 numa=1
pci pci0000:16/0000:16:05.0/0000:1b:00.0 class=0x030200 vendor=10de device=2330 numa=0 vfs=0000:1b:00.4,0000:1b:00.5 vf_device=2330
pci pci0000:30/0000:30:05.0/0000:33:00.0 class=0x038000 vendor=1002 device=740f
)");
  const Inventory inventory = tree.scan();
  REQUIRE(inventory.gpus.size() == 3);
  CHECK(inventory.gpus[0].address.text() == "0000:1b:00.0");
  CHECK(inventory.gpus[0].vendor == "10de");
  CHECK(inventory.gpus[0].numa_node == 0);
  CHECK(inventory.gpus[0].pcie_path ==
        std::vector<std::string>{"pci0000:16", "0000:16:05.0", "0000:1b:00.0"});
  CHECK(inventory.gpus[1].address.text() == "0000:33:00.0");
  CHECK_FALSE(inventory.gpus[1].numa_node);
  CHECK(inventory.gpus[2].address.text() == "0000:b7:00.0");
}
