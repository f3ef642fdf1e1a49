// plugin/dra/data_direct.h: a machine whose cards reach their GPUs by a second function, as the kernel's and
// rdma-core's sources have it; none was seen.
#include "plugin/dra/data_direct.h"

#include "plugin/dra/offer.h"
#include "tests/support/sys_tree.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

std::string length_of(const std::string& text) {
  return {static_cast<char>(text.size() & 0xFFU), static_cast<char>(text.size() >> 8U)};
}

std::string field(const std::string& keyword, const std::string& value) {
  return keyword + static_cast<char>(value.size()) + value;
}

// An identifier, the read-only fields, and the end.
std::string vpd(const std::string& fields) {
  const std::string name = "ConnectX-8";
  return "\x82" + length_of(name) + name + "\x90" + length_of(fields) + fields + "\x78";
}

PciAddress address(const char* text) { return *PciAddress::parse(text); }

// Two cards below roots of their own, whose Data Direct functions are beside the GPUs.
struct Machine {
  Machine() : tree("sys/bus/pci/drivers/mlx5_core/\n") {
    add("pci0000:00", "0000:03:00.0", "0x15b3", "0x1023", "mlx5_core");
    add("pci0002:00", "0002:03:00.0", "0x15b3", "0x1023", "mlx5_core");
    add("pci0009:00", "0009:04:00.0", "0x15b3", "0x2100", "mlx5_ib");
    add("pci0019:00", "0019:04:00.0", "0x15b3", "0x2100", "mlx5_ib");
    set_vpd("0000:03:00.0", field("SN", "MT1") + field("V3", "first"));
    set_vpd("0002:03:00.0", field("SN", "MT2") + field("V3", "second"));
    set_vpd("0009:04:00.0", field("V3", "first") + field("VU", "MT1DD"));
    set_vpd("0019:04:00.0", field("V3", "second") + field("VU", "MT2DD"));
  }

  void add(const std::string& root, const std::string& function, const std::string& vendor,
           const std::string& device, const std::string& driver) const {
    const std::string folder = "devices/" + root + "/" + function;
    test::write_tree(tree.dir.path(), "sys/" + folder + "/vendor = " + vendor + "\nsys/" + folder +
                                          "/device = " + device + "\nsys/bus/pci/devices/" + function +
                                          " -> ../../../" + folder + "\nsys/bus/pci/drivers/" + driver + "/" +
                                          function + " -> ../../../../" + folder + "\n");
  }
  void set_vpd(const std::string& function, const std::string& fields) const {
    std::ofstream(tree.dir.path("sys/bus/pci/devices/" + function + "/vpd"), std::ios::binary) << vpd(fields);
  }
  std::string root_of(const char* port) const {
    const auto roots = find_data_direct_roots(tree.sys, {address(port)});
    return roots.empty() ? "not read" : roots.at(address(port));
  }

  test::SysTree tree;
};

}  // namespace

TEST_CASE("a card's Data Direct root is that of the function whose VPD has the same V3 field") {
  const Machine machine;
  CHECK(machine.root_of("0000:03:00.0") == "pci0009:00");
  CHECK(machine.root_of("0002:03:00.0") == "pci0019:00");
}

TEST_CASE("nothing is published of Data Direct that is not certain") {
  const Machine machine;
  SECTION("the card names no function") { machine.set_vpd("0000:03:00.0", field("SN", "MT1")); }
  SECTION("none has its V3") { machine.set_vpd("0000:03:00.0", field("V3", "third")); }
  SECTION("two have") { machine.set_vpd("0019:04:00.0", field("V3", "first")); }
  SECTION("neither has one") {
    machine.set_vpd("0000:03:00.0", "");
    machine.set_vpd("0009:04:00.0", "");
  }
  SECTION("another vendor's card has it") {
    machine.add("pci0000:00", "0000:03:00.0", "0x14e4", "0x1750", "bnxt_en");
  }
  SECTION("its VPD cannot be read") {
    std::filesystem::remove(machine.tree.dir.path("sys/bus/pci/devices/0000:03:00.0/vpd"));
  }
  CHECK(machine.root_of("0000:03:00.0").empty());
}

TEST_CASE("where the kernel uses no Data Direct no card is asked") {
  const Machine machine;
  std::filesystem::remove_all(machine.tree.dir.path("sys/bus/pci/drivers/mlx5_ib"));
  CHECK(machine.root_of("0000:03:00.0") == "not read");
}

TEST_CASE("a field of the VPD is found, and cut data have none") {
  const std::string whole = vpd(field("PN", "900") + field("V3", "x-y") + field("RV", std::string(4, '\0')));
  CHECK(vpd_field(whole, "V3") == "x-y");
  CHECK(vpd_field(whole, "PN") == "900");
  CHECK(vpd_field(whole, "SN").empty());
  for (size_t length = 0; length + 1 < whole.size(); ++length)
    CHECK(vpd_field(whole.substr(0, length), "V3").empty());
  CHECK(vpd_field(vpd("V3\xff"
                      "short"),
                  "V3")
            .empty());
  CHECK(vpd_field("\x78" + whole, "V3").empty());  // behind the end
}

TEST_CASE("a device has its Data Direct root, and by an option as its PCIe root") {
  Pool pool;
  pool.config.prefix = "nvidia.com";
  pool.config.name = "hostdev";
  for (const char* text : {"0000:03:00.0", "0002:03:00.0"}) {
    PoolDevice device;
    device.facts.address = address(text);
    device.facts.id = *DeviceId::parse(text);
    device.facts.pcie_path = {std::string("pci") + std::string(text).substr(0, 5) + "00"};
    pool.devices.push_back(std::move(device));
  }
  PortsByFunction ports;
  ports[address("0000:03:00.0")].data_direct_root = "pci0009:00";
  const auto roots = [&](bool of_data_direct, size_t at) {
    KnownNames names;
    const auto offered =
        make_offer({PublishedPool(pool)}, {}, {.root_of_data_direct = of_data_direct}, names, ports);
    const Json& all = *offered.at(at).device.find("attributes");
    return all.find("resource.kubernetes.io/pcieRoot")->text() + all.find("dataDirectPcieRoot")->text();
  };
  CHECK(roots(false, 0) == R"({"string":"pci0000:00"}{"string":"pci0009:00"})");
  CHECK(roots(true, 0) == R"({"string":"pci0009:00"}{"string":"pci0009:00"})");
  for (const bool option : {false, true})
    CHECK(roots(option, 1) == R"({"string":"pci0002:00"}{"string":""})");
}
