#include "tests/plugin/tree.h"

#include "common/text.h"
#include "tests/support/places.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

// NAME:LINK_LAYER:STATE:PHYSICAL:NUMBER, the last of its character devices.
std::string rdma_manifest(const std::string& base, const std::vector<std::string>& words) {
  if (words.size() != 5) return "";
  const std::string port = base + "infiniband/" + words[0] + "/ports/1/";
  return port + "link_layer = " + words[1] + "\n" + port + "state = 1: " + words[2] + "\n" + port +
         "phys_state = 1: " + words[3] + "\n" + base + "infiniband_verbs/uverbs" + words[4] +
         "/ibdev = " + words[0] + "\n" + base + "infiniband_mad/umad" + words[4] + "/ibdev = " + words[0] +
         "\n";
}

// One function: what read_bus_facts() and the like read, as a manifest.
std::string function_manifest(const std::string& path, std::map<std::string, std::string> facts) {
  const std::string base = "sys/devices/" + path + "/";
  std::string to_sys = "../";  // from a link in the function's folder
  for (size_t i = 0; i <= split(path, "/").size(); ++i) to_sys += "../";
  to_sys.resize(to_sys.size() - 3);
  std::string out =
      "sys/bus/pci/devices/" + path.substr(path.rfind('/') + 1) + " -> ../../../devices/" + path + "\n";
  out += base + "class = " + facts["class"] + "\n";
  out += base + "vendor = 0x" + facts["vendor"] + "\n" + base + "device = 0x" + facts["device"] + "\n";
  out += base + "numa_node = " + (facts["numa"].empty() ? "-1" : facts["numa"]) + "\n";
  if (!facts["driver"].empty())
    out += base + "driver -> " + to_sys + "bus/pci/drivers/" + facts["driver"] + "\n";
  if (const auto net = split(facts["net"], ":"); net.size() == 2) {
    out += base + "net/" + net[0] + "/type = " + net[1] + "\n";
    out += "sys/class/net/" + net[0] + " -> ../../devices/" + path + "/net/" + net[0] + "\n";
    if (!facts["carrier"].empty()) {
      out += base + "net/" + net[0] + "/carrier = " + facts["carrier"] + "\n";
      out += base + "net/" + net[0] + "/operstate = " + (facts["carrier"] == "1" ? "up" : "down") + "\n";
    }
    if (!facts["master"].empty())
      out += base + "net/" + net[0] + "/master -> ../../" + to_sys + "devices/virtual/net/" +
             facts["master"] + "\n";
  }
  const auto rdma = split(facts["rdma"], ":");
  // node_type_show() in drivers/infiniband/core: a number of the kernel's, and the word.
  if (!facts["node_type"].empty())
    out += base + "infiniband/" + rdma.at(0) + "/node_type = 4: " + facts["node_type"] + "\n";
  return out + rdma_manifest(base, rdma);
}

// "pci PATH key=value ..." with the VFs of the function.
std::string pci_manifest(const std::string& line) {
  const auto words = split(line, " ");
  std::map<std::string, std::string> facts;
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    facts[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  const std::string& path = words.at(1);
  const size_t name = path.rfind('/') + 1;
  std::string out = function_manifest(path, facts);
  const auto vfs = split(facts["vfs"], ",");
  if (vfs.empty()) return out;
  const std::string base = "sys/devices/" + path + "/";
  for (const char* file : {"sriov_totalvfs", "sriov_numvfs"})
    out += base + file + " = " + std::to_string(vfs.size()) + "\n";
  facts["device"] = facts["vf_device"];
  facts["net"].clear();
  for (size_t i = 0; i < vfs.size(); ++i) {
    const std::string vf = path.substr(0, name) + vfs[i];
    out += base + "virtfn" + std::to_string(i) + " -> ../" + vfs[i] + "\n";
    out += function_manifest(vf, facts) + "sys/devices/" + vf + "/physfn -> ../" + path.substr(name) + "\n";
  }
  return out;
}

}  // namespace

Tree::Tree(const std::string& name) {
  if (name.empty()) return;
  add(source_text("tests/data/" + name + ".sysfs"));
}

void Tree::add(std::string_view manifest) {
  std::istringstream lines{std::string(manifest)};
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("pci ")) {
      rest += pci_manifest(line);
      continue;
    }
    const size_t bar = line.find(" | ");
    if (bar == std::string::npos || line.starts_with("#")) {
      rest += line + "\n";
      continue;
    }
    const fs::path at = fs::path(root()) / line.substr(0, bar);
    fs::create_directories(at.parent_path());
    std::ofstream(at, std::ios::app) << line.substr(bar + 3) << '\n';
  }
  write_tree(root(), rest);
  write_uevents(root());
}

void Tree::remove(const std::string& below) { fs::remove_all(folder_.path(below)); }

void Tree::move_to_pod(const std::string& address) {
  const std::string base = "sys/bus/pci/devices/" + address + "/";
  for (const std::string& folder : {std::string("net"), std::string("infiniband")}) {
    for (const auto& entry : fs::directory_iterator(folder_.path(base + folder))) {
      fs::remove(folder_.path("sys/class/net/" + entry.path().filename().string()));
    }
    remove(base + folder);
    fs::create_directories(folder_.path(base + folder));
  }
}

Inventory Tree::scan() const {
  auto scanned = vfrail::plugin::scan(sys(), nullptr);
  if (!scanned) FAIL(scanned.error().text);
  return *std::move(scanned);
}

const DeviceFacts& function(const Inventory& inventory, const std::string& address) {
  for (const DeviceFacts& candidate : inventory.functions) {
    if (candidate.address.text() == address) return candidate;
  }
  FAIL("there is no " << address);
  throw std::logic_error("FAIL returned");
}

}  // namespace vfrail::test
