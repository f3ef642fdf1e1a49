#include "plugin/admin/report/config_report.h"

#include "plugin/device/config/formats/parse_config.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

TEST_CASE("a configuration is described in words") {
  const auto config = parse_config(
      R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev",
          "selectors":{"vendors":["8086"],"isRdma":true,"pfNames":["eth0#0-2","eth1#0"]}}]})",
      {"c.json", "intel.com", false});
  REQUIRE(config);
  CHECK(config_in_words(*config) == R"(nvidia.com/hostdev
  selects    vendor 8086, PF eth0#0-2 or eth1#0, with RDMA
  allocates  the RDMA device's nodes
  units      each a device of its own
  health     InfiniBand port, devlink reporters
  host use   what carries the host's default route or is a member of a bond or bridge is left out
  socket     nvidia.com_hostdev.sock
  variables  PCIDEVICE_NVIDIA_COM_HOSTDEV, PCIDEVICE_NVIDIA_COM_HOSTDEV_INFO
)");
}

TEST_CASE("what is left out for the host is said of shared resources too, where anything is") {
  for (const auto& [policy, says] : {std::pair("refuse", true), std::pair("allow", false)}) {
    const auto config = parse_config(R"({"configList":[{"resourceName":"hca","rdmaHcaMax":8,"hostUse":")" +
                                         std::string(policy) + R"(","selectors":{"vendors":["15b3"]}}]})",
                                     {"c.json", "intel.com", true});
    REQUIRE(config);
    CHECK((config_in_words(*config).find("host use   what the host uses in any way is left out") !=
           std::string::npos) == says);
  }
}

TEST_CASE("a shared resource is described in words, and so is an inverted selector") {
  const auto config = parse_config(
      R"({"configList":[{"resourceName":"hca","rdmaHcaMax":8,"hcaPerUnit":"one","extraDeviceNodes":["cxi/*"],
          "selectors":{"vendors":["15b3"],"not":{"rdmaDevices":["mlx5_bond_*"]}}}]})",
      {"c.json", "intel.com", true});
  REQUIRE(config);
  CHECK(config_in_words(*config) == R"(rdma/hca
  selects    vendor 15b3, with RDMA, but not: RDMA device mlx5_bond_*
  allocates  the RDMA device's nodes
  units      8, each with one device of the pool
  health     InfiniBand port, devlink reporters
  links      interfaces that are administratively down are brought up once
  adds       cxi/*
  topology   NUMA nodes are not reported
  socket     hca.sock
)");
}
