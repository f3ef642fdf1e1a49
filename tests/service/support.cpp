#include "tests/service/support.h"

#include "plugin/service/kubelet/grpc_library.h"
#include "tests/support/deadline.h"
#include "tests/support/places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

// gRPC's lines about sockets that a test breaks on purpose.
const int kQuiet = ::setenv("GRPC_VERBOSITY", "NONE", 0);
// For the whole test program, as the daemon has it for its whole life.
const GrpcLibrary kGrpc;

}  // namespace

ConfigSource open_config(const std::string& file) {
  auto out = ConfigSource::open({.file = file});
  if (!out) throw std::runtime_error(out.error().text);
  return *std::move(out);
}

ConfigSource any_config(const std::string& file) {
  std::ofstream(file) << R"({"resourceList": [{"resourceName": "any", "selectors": {"vendors": ["15b3"]}}]})";
  return open_config(file);
}

Pool make_pool(const std::vector<std::string>& addresses, const std::string& name) {
  Pool out;
  out.config.prefix = "nvidia.com";
  out.config.name = name;
  for (const std::string& address : addresses) {
    PoolDevice device;
    device.facts.address = PciAddress::parse(address).value();
    device.facts.id = DeviceId(device.facts.address);
    out.devices.push_back(std::move(device));
  }
  return out;
}

bool eventually(const std::function<bool()>& wanted) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!wanted()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

IgbNode::IgbNode() { fs::create_directories(root()); }

void IgbNode::fill() const {
  if (fs::exists(root() + "/sys")) return;
  write_tree(root(), source_text("tests/data/igb_node.sysfs"));
  write_uevents(root());
}

AllocatePlaces IgbNode::places() const {
  return AllocatePlaces{.sys = SysRoot(root()), .device_info_dir = device_info_dir(), .run_dir = run_dir()};
}

Pool IgbNode::pool() const {
  fill();
  Pool out = make_pool({});
  const SysRoot sys(root());
  for (const std::string bus : {"21", "41"}) {
    for (const std::string function : {"0", "2", "4", "6"}) {
      DeviceFacts known;
      known.address = PciAddress::parse("0000:" + bus + ":10." + function).value();
      known.id = DeviceId(known.address);
      const auto facts = read_function(sys, known);
      if (!facts || !*facts) throw std::runtime_error("the test's node has no such device");
      PoolDevice device;
      device.facts = **facts;
      device.rdma = true;
      out.devices.push_back(std::move(device));
    }
  }
  return out;
}

void IgbNode::remove_device(const std::string& address) const {
  fs::remove(root() + "/sys/bus/pci/devices/" + address);
}

std::vector<std::string> IgbNode::written() const {
  std::vector<std::string> out;
  for (const std::string& folder : {device_info_dir(), run_dir() + "/promised"}) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing)) out.push_back(entry.path().filename());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

unsigned mode_of(const std::string& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 ? there.st_mode & 07777U : 0;
}

}  // namespace vfrail::test
