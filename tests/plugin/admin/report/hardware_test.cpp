// Names of models and speeds of ports.
#include "plugin/admin/report/hardware.h"

#include "common/files.h"
#include "plugin/admin/report/model_names.h"
#include "tests/plugin/tree.h"

#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

// "15b3:1021" -> "MT2910 Family [ConnectX-7]", of devices alone.
using Names = std::map<std::string, std::string>;

Names names_in(const std::string& list) {
  std::istringstream lines(list);
  std::string vendor;
  Names out;
  for (std::string line; std::getline(lines, line) && !line.starts_with("C ");) {
    if (line.size() < 7 || line[0] == '#' || line.starts_with("\t\t")) continue;
    if (line[0] != '\t')
      vendor = line.substr(0, 4);
    else
      out[vendor + ":" + line.substr(1, 4)] = line.substr(7);
  }
  return out;
}

}  // namespace

TEST_CASE("names are those of the list of PCI ids, and speeds those of port and rate") {
  Tree tree("dgx_h100");
  tree.add("usr/share/misc/pci.ids | # a list");
  for (const char* line : {"15b2  Another", "15b3  Mellanox Technologies",
                           "\t101e  ConnectX Virtual Function", "\t1021  MT2910 Family [ConnectX-7]",
                           "\t\t15b3 1021  A subsystem", "C 02  Network controller", "\t1021  Not a device"})
    tree.add(std::string("usr/share/misc/pci.ids | ") + line);
  tree.add("sys/bus/pci/devices/0000:18:00.0/infiniband/mlx5_0/ports/1/rate = 400 Gb/sec (4X NDR)");
  tree.add("sys/bus/pci/devices/0000:18:00.0/infiniband/mlx5_0/ports/1/state = 4: ACTIVE");
  tree.add("sys/class/net/enp41s0f0np0/speed = 25000");
  tree.add("sys/class/net/enp41s0f1np1/speed = -1");
  const Inventory inventory = tree.scan();
  const auto all = read_hardware(tree.sys(), pci_ids_files(tree.root()), inventory);
  CHECK(all.at("0000:18:00.0").vendor_name == "Mellanox Technologies");
  CHECK(all.at("0000:18:00.0").device_name == "MT2910 Family [ConnectX-7]");
  CHECK(all.at("0000:18:00.1").device_name == "ConnectX Virtual Function");
  CHECK(all.at("0000:18:00.0").speed_mbps == 400000U);
  CHECK(all.at("0000:29:00.0").speed_mbps == 25000U);
  CHECK_FALSE(all.at("0000:29:00.1").speed_mbps);
}

// mlx5 reports that of one lane at the first data rate, times four.
TEST_CASE("the rate of a port that is down is no speed") {
  const Tree tree("a100_bond");
  const auto all = read_hardware(tree.sys(), {}, tree.scan());
  CHECK_FALSE(all.at("0000:4b:00.0").speed_mbps);
  CHECK(all.at("0000:b2:00.0").speed_mbps == 200000U);
}

TEST_CASE(
    "without a list of PCI ids the common models have a name, and a list that lacks one does not hide it") {
  Tree tree("dgx_h100");
  const Inventory inventory = tree.scan();
  const auto none = read_hardware(tree.sys(), {"/not/there"}, inventory);
  CHECK(none.at("0000:18:00.0").vendor_name == "Mellanox");
  CHECK(none.at("0000:18:00.0").device_name == "ConnectX-7");
  CHECK(none.at("0000:18:00.1").device_name == "ConnectX Virtual Function");
  tree.add("usr/share/hwdata/pci.ids | 15b3  Mellanox Technologies");
  tree.add("usr/share/hwdata/pci.ids | \t1013  MT27700 Family [ConnectX-4]");
  const auto old = read_hardware(tree.sys(), pci_ids_files(tree.root()), inventory);
  CHECK(old.at("0000:18:00.0").vendor_name == "Mellanox Technologies");
  CHECK(old.at("0000:18:00.0").device_name == "ConnectX-7");
}

TEST_CASE("the names of models that the program knows are those of the list of PCI ids") {
  // Debian's package pci.ids, which tests/setup installs; models that came after its release of 2023.
  const std::set<std::string> newer = {"14e4:1760", "14e4:1761", "14e4:1762", "14e4:1763",
                                       "14e4:1819", "15b3:1025", "1d0f:efa3", "8086:12d2",
                                       "8086:12d3", "8086:1452", "8086:145c"};
  const auto text = read_file("/usr/share/misc/pci.ids", 16 << 20);
  REQUIRE(text);
  REQUIRE(*text);
  const Names list = names_in(**text);
  const Names known = names_in(std::string(known_model_names()));
  CHECK(known.size() > 100);
  std::set<std::string> unknown;
  for (const auto& [id, name] : known) {
    INFO(id << " " << name);
    const auto at = list.find(id);
    if (at == list.end()) {
      unknown.insert(id);
      continue;
    }
    std::istringstream words(name);
    for (std::string word; words >> word;) CHECK(at->second.find(word) != std::string::npos);
  }
  CHECK(unknown == newer);
}
