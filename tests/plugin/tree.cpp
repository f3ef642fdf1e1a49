#include "tests/plugin/tree.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

namespace vfrail::test {

namespace fs = std::filesystem;

Tree::Tree(const std::string& name) {
  if (name.empty()) return;
  std::ifstream file(std::string(VFRAIL_SOURCE_DIR) + "/tests/data/" + name + ".sysfs");
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE(file.good());
  add(text.str());
}

void Tree::add(std::string_view manifest) {
  std::istringstream lines{std::string(manifest)};
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
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
  auto scanned = vfrail::scan(sys(), nullptr);
  if (!scanned) FAIL(scanned.error().text);
  return *std::move(scanned);
}

const Function& function(const Inventory& inventory, const std::string& address) {
  for (const Function& candidate : inventory.functions) {
    if (candidate.address.text() == address) return candidate;
  }
  FAIL("there is no " << address);
  throw std::logic_error("FAIL returned");
}

}  // namespace vfrail::test
