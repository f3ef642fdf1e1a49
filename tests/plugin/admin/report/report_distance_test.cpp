#include "plugin/admin/report/report_distance.h"

#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

Pools pools_of(const Inventory& inventory, const std::string& selectors) {
  auto parsed = parse_config(R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev",
      "selectors":)" + selectors +
                                 "}]}",
                             {"c.json", "intel.com", false});
  if (!parsed) FAIL(parsed.error().text);
  return match(*parsed, inventory);
}

}  // namespace

TEST_CASE("the distances are a matrix of PFs, with the GPUs in front") {
  const Inventory inventory = Tree("dgx_h100").scan();
  Pools pools = pools_of(inventory, R"({"pfNames":["ibp24s0","ibp64s0#0","ibp154s0"]})");
  pools.pools[0].config.preference = Preference::distinct_pf;
  CHECK(render_distances(inventory, pools) ==
        R"(nvidia.com/hostdev: 5 devices of 3 PFs, preferredAllocation distinctPF
    G0    G1    G2    G3    G4   G5    G6    G7    P0    P1    P2   NUMA  DEVICES  PF
P0  PIX   NODE  NODE  NODE  SYS  SYS   SYS   SYS   X     NODE  SYS  0     2        0000:18:00.0 ibp24s0
P1  NODE  PIX   NODE  NODE  SYS  SYS   SYS   SYS   NODE  X     SYS  0     1        0000:40:00.0 ibp64s0
P2  SYS   SYS   SYS   SYS   PIX  NODE  NODE  NODE  SYS   SYS   X    1     2        0000:9a:00.0 ibp154s0

G0  0000:1b:00.0  vendor 10de  NUMA 0
G1  0000:43:00.0  vendor 10de  NUMA 0
G2  0000:52:00.0  vendor 10de  NUMA 0
G3  0000:61:00.0  vendor 10de  NUMA 0
G4  0000:9d:00.0  vendor 10de  NUMA 1
G5  0000:c3:00.0  vendor 10de  NUMA 1
G6  0000:d1:00.0  vendor 10de  NUMA 1
G7  0000:df:00.0  vendor 10de  NUMA 1

CARD  the same card
PIX   one PCIe switch
PXB   several PCIe bridges, no host bridge
PHB   through their PCIe host bridge
NODE  other host bridges of the NUMA node
SYS   another NUMA node
)");
}

TEST_CASE("without pools the distances are those of all functions, and a node without GPUs says so") {
  const Inventory inventory = Tree("two_sockets").scan();
  CHECK(render_distances(inventory, {}) == R"(all functions: 30 devices of 6 PFs
    P0    P1    P2    P3    P4    P5    NUMA  DEVICES  PF
P0  X     CARD  NODE  NODE  SYS   SYS   0     5        0000:17:00.0 enp23s0f0np0
P1  CARD  X     NODE  NODE  SYS   SYS   0     5        0000:17:00.1 enp23s0f1np1
P2  NODE  NODE  X     CARD  SYS   SYS   0     5        0000:31:00.0 enp49s0f0np0
P3  NODE  NODE  CARD  X     SYS   SYS   0     5        0000:31:00.1 enp49s0f1np1
P4  SYS   SYS   SYS   SYS   X     CARD  1     5        0000:b1:00.0 enp177s0f0np0
P5  SYS   SYS   SYS   SYS   CARD  X     1     5        0000:b1:00.1 enp177s0f1np1

There is no GPU on this node.

CARD  the same card
PIX   one PCIe switch
PXB   several PCIe bridges, no host bridge
PHB   through their PCIe host bridge
NODE  other host bridges of the NUMA node
SYS   another NUMA node
)");
  const Json json = distances_json(inventory, {});
  CHECK(json.as_array()->at(0).find("resource")->is_null());
}

TEST_CASE("the JSON of the distances names devices, GPUs and PFs by their addresses") {
  const Inventory inventory = Tree("dgx_a100").scan();
  const Json json = distances_json(inventory, pools_of(inventory, R"({"pfNames":["ibp12s0","ibp18s0"]})"));
  const Json& pool = json.as_array()->at(0);
  CHECK(*pool.find("resource")->as_text() == "nvidia.com/hostdev");
  CHECK(*pool.find("preferred_allocation")->as_text() == "none");
  REQUIRE(pool.find("pfs")->as_array()->size() == 2);
  const Json& port = pool.find("pfs")->as_array()->at(0);
  CHECK(*port.find("address")->as_text() == "0000:0c:00.0");
  CHECK(*port.find("name")->as_text() == "ibp12s0");
  CHECK(port.find("devices")->text() == R"(["0000:0c:00.1","0000:0c:00.2"])");
  CHECK(*port.find("gpus")->find("0000:0f:00.0")->as_text() == "PXB");
  CHECK(*port.find("gpus")->find("0000:47:00.0")->as_text() == "SYS");
  CHECK(port.find("pfs")->text() == R"({"0000:12:00.0":"PXB"})");
}

TEST_CASE("a function's nearest GPUs are named, the others counted") {
  const Inventory h100 = Tree("dgx_h100").scan();
  CHECK(describe_gpus(test::function(h100, "0000:40:00.1"), h100.gpus) ==
        "PIX to GPU 0000:43:00.0, NODE to 3 more, SYS to 4 more");
  const Inventory a100 = Tree("dgx_a100").scan();
  CHECK(describe_gpus(test::function(a100, "0000:0c:00.1"), a100.gpus) ==
        "PXB to GPUs 0000:07:00.0 0000:0f:00.0, SYS to 6 more");
  CHECK(describe_gpus(test::function(a100, "0000:0c:00.1"), {}) == "no GPU on this node");
}
