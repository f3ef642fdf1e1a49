// rescan(): what is read of a node of which only some devices have changed, and what that costs in system
// calls.
#include "plugin/device/inventory/inventory.h"
#include "tests/plugin/tree.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

Inventory rescanned(const Tree& tree, const Inventory& last, const Changed& changed) {
  auto out = rescan(tree.sys(), nullptr, last, changed);
  if (!out) FAIL(out.error().text);
  return *std::move(out);
}

std::string folder_of(const DeviceFacts& function) {
  return (function.kind == FunctionKind::sub_function ? "sys/bus/auxiliary/devices/"
                                                      : "sys/bus/pci/devices/") +
         function.id.text();
}

// Changes of one function as the kernel makes them, and the event of each.
class Changing {
 public:
  Changing(Tree& tree, unsigned seed) : tree_(tree), random_(seed) {}

  Changed change(const Inventory& inventory) {
    const DeviceFacts& one = inventory.functions[below(inventory.functions.size())];
    Changed out = name(one);
    switch (below(7)) {
      case 0:
        remove(one);
        return {.devices = {one.id.text()}};
      case 1:
        for (const char* part : {"/net", "/infiniband"}) empty(folder_of(one) + part);
        return out;
      case 2:
        write(folder_of(one) + "/numa_node", std::to_string(below(3)));
        return out;
      case 3:
        fs::remove(path(folder_of(one) + "/driver"));
        return {.devices = {one.id.text()}};
      case 4:
        for (const Netdev& netdev : one.netdevs)
          write(folder_of(one) + "/net/" + netdev.name + "/carrier", std::to_string(below(2)));
        return out;
      case 5:
        for (const RdmaFacts& rdma : one.rdma)
          write(folder_of(one) + "/infiniband/" + rdma.name + "/ports/1/state",
                below(2) == 0 ? "1: DOWN" : "4: ACTIVE");
        return out;
      default:
        return hotplug();
    }
  }

 private:
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }
  std::string path(const std::string& name) const { return tree_.root() + "/" + name; }
  Changed name(const DeviceFacts& one) {
    if (!one.netdevs.empty() && below(3) == 0) return {.interfaces = {one.netdevs.front().name}};
    if (!one.rdma.empty() && below(3) == 0) return {.rdma_devices = {one.rdma.front().name}};
    return {.devices = {one.id.text()}};
  }
  void write(const std::string& file, const std::string& text) const {
    if (!fs::exists(path(file))) return;
    std::ofstream(path(file)) << text << "\n";
  }
  void empty(const std::string& folder) const {
    if (!fs::exists(path(folder))) return;
    for (const auto& entry : fs::directory_iterator(path(folder))) fs::remove_all(entry.path());
  }
  void remove(const DeviceFacts& one) const {
    const fs::path real = fs::canonical(path(folder_of(one)));
    if (one.is_vf())
      fs::remove(path("sys/bus/pci/devices/" + one.pf->text() + "/virtfn" + std::to_string(one.vf_index)));
    fs::remove(path(folder_of(one)));
    if (one.pf) fs::remove_all(real);
  }
  Changed hotplug() {
    const std::string address = "0000:e" + std::to_string(++added_ % 10) + ":00.0";
    tree_.add("pci pci0000:e0/" + address +
              " class=0x020000 vendor=15b3 device=101e driver=mlx5_core net=new" + std::to_string(added_) +
              ":1");
    return {.devices = {address}};
  }

  Tree& tree_;
  std::mt19937 random_;
  int added_ = 0;
};

void check_same(const Inventory& part, const Inventory& whole) {
  REQUIRE(part.functions.size() == whole.functions.size());
  for (size_t i = 0; i < whole.functions.size(); ++i) {
    INFO(whole.functions[i].id.text());
    CHECK(part.functions[i] == whole.functions[i]);
  }
  const auto ids = [](const auto& list, auto id) {
    std::vector<std::string> out;
    for (const auto& one : list) out.push_back(id(one));
    return out;
  };
  CHECK(ids(part.unread, [](const UnreadDevice& one) { return one.id + one.reason; }) ==
        ids(whole.unread, [](const UnreadDevice& one) { return one.id + one.reason; }));
  CHECK(ids(part.gpus, [](const Gpu& one) { return one.address.text(); }) ==
        ids(whole.gpus, [](const Gpu& one) { return one.address.text(); }));
  CHECK(part.warnings == whole.warnings);
  CHECK(part.rdma_netns_mode == whole.rdma_netns_mode);
  CHECK(part.rdma_cm == whole.rdma_cm);
  CHECK(part.vhost_net == whole.vhost_net);
}

}  // namespace

TEST_CASE("a rescan of what has changed finds what a scan of the whole node finds") {
  const std::string name = GENERATE(as<std::string>{}, "igb_node", "mlx5_switchdev", "a100_bond", "dgx_h100",
                                    "roce_rails", "two_sockets", "v100_ib", "management");
  for (unsigned seed = 0; seed < 4; ++seed) {
    Tree tree(name);
    Changing changing(tree, seed);
    Inventory last = tree.scan();
    for (int step = 0; step < 12 && !last.functions.empty(); ++step) {
      Changed changed = changing.change(last);
      if (step % 3 == 0) changed.add(changing.change(last));
      CAPTURE(name, seed, step, changed.devices, changed.interfaces, changed.rdma_devices);
      last = rescanned(tree, last, changed);
      check_same(last, tree.scan());
    }
  }
}

TEST_CASE("a rescan reads nothing of devices that are not named, and the whole node for an unknown name") {
  Tree tree("igb_node");
  const Inventory last = tree.scan();
  tree.add("sys/bus/pci/devices/0000:21:10.2/numa_node = 5");
  const auto numa = [](const Inventory& inventory) { return function(inventory, "0000:21:10.2").numa_node; };
  CHECK(numa(rescanned(tree, last, {})) == numa(last));
  CHECK(numa(rescanned(tree, last, {.devices = {"0000:21:10.0"}})) == numa(last));
  CHECK(numa(rescanned(tree, last, {.devices = {"0000:21:10.2"}})) == 5);
  CHECK(numa(rescanned(tree, last, {.interfaces = {"unknown0"}})) == 5);
  CHECK(numa(rescanned(tree, last, {.rdma_devices = {"mlx5_99"}})) == 5);
  CHECK(numa(rescanned(tree, last, {.iommu_groups = {"9999"}})) == 5);
  CHECK(numa(rescanned(tree, last, Changed::all())) == 5);
}

TEST_CASE("VFs are read again with their PF if it is no longer as it was, and their PF with a VF") {
  Tree tree("igb_node");
  const Inventory last = tree.scan();
  REQUIRE(function(last, "0000:21:10.2").port.carrier);
  tree.add("sys/bus/pci/devices/0000:21:00.0/net/" + function(last, "0000:21:00.0").netdevs[0].name.text() +
           "/carrier = 0");
  CHECK_FALSE(function(rescanned(tree, last, {.devices = {"0000:21:00.0"}}), "0000:21:10.2").port.carrier);
  CHECK_FALSE(function(rescanned(tree, last, {.devices = {"0000:21:10.0"}}), "0000:21:10.2").port.carrier);
}

TEST_CASE("a device that could not be read is read again at each rescan") {
  Tree tree("igb_node");
  const std::string file = "sys/bus/pci/devices/0000:21:10.0/numa_node";
  tree.remove(file);
  tree.add(file + " -> numa_node");
  const Inventory last = tree.scan();
  REQUIRE(last.unread.size() == 1);
  CHECK(rescanned(tree, last, {}).unread.size() == 1);
  tree.remove(file);
  tree.add(file + " = 0");
  const Inventory now = rescanned(tree, last, {});
  CHECK(now.unread.empty());
  CHECK(function(now, "0000:21:10.0").numa_node == 0);
}

TEST_CASE("more names than a rescan keeps are everything") {
  Changed changed;
  for (size_t i = 0; i < Changed::kMostNames; ++i) changed.add({.interfaces = {"eth" + std::to_string(i)}});
  CHECK_FALSE(changed.everything);
  CHECK(changed.interfaces.size() == Changed::kMostNames);
  changed.add({.devices = {"0000:21:10.0"}});
  CHECK(changed == Changed::all());
  changed.add({.devices = {"0000:21:10.0"}});
  CHECK(changed == Changed::all());
}

namespace {

constexpr const char* kRoot = "VFRAIL_TEST_RESCAN_ROOT";
constexpr const char* kBegin = "/rescan-begins";
constexpr const char* kEnd = "/rescan-ends";

// PFs with 8 VFs each, each VF with its interface and RDMA device.
std::string node_of(size_t pfs) {
  std::string out;
  for (size_t pf = 0; pf < pfs; ++pf) {
    const std::string bus =
        "0000:" + std::string(1, "0123456789abcdef"[pf / 16]) + std::string(1, "0123456789abcdef"[pf % 16]);
    std::string vfs;
    for (int vf = 0; vf < 8; ++vf) vfs += (vf == 0 ? "" : ",") + bus + ":01." + std::to_string(vf);
    const std::string number = std::to_string(pf);
    out += "pci pci0000:00/" + bus + ":00.0 class=0x020000 vendor=15b3 device=101d vf_device=101e " +
           "driver=mlx5_core net=p" + number + ":1 rdma=mlx5_" + number +
           ":Ethernet:ACTIVE:LinkUp:" + number + " vfs=" + vfs + "\n";
  }
  return out + "proc/1/net/route = Iface\n";
}

// System calls of one rescan about one VF, by a process of its own under strace(1); those by which
// an allocator gets its memory are left out, because a sanitizer's asks for more on a larger heap.
int calls_of_rescan(size_t pfs) {
  Tree tree("");
  tree.add(node_of(pfs));
  REQUIRE(tree.scan().functions.size() == pfs * 9);
  const TempDir folder;
  const std::string trace = folder.path("trace");
  // Leaks cannot be searched for under strace, and the sanitizer makes that an error.
  const std::string command =
      std::string("exec env ASAN_OPTIONS=detect_leaks=0 ") + kRoot + "=" + tree.root() +
      " /usr/bin/strace -f -qq -e 'trace=!mmap,munmap,mprotect,madvise,brk' -o " + trace + " /proc/" +
      std::to_string(::getpid()) + "/exe 'one rescan of which the system calls are counted' > /dev/null";
  REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c)
  std::ifstream lines(trace);
  int out = -1;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(kEnd) != std::string::npos) return out;
    if (out >= 0) ++out;
    if (line.find(kBegin) != std::string::npos) out = 0;
  }
  FAIL("the trace has no end");
  return -1;
}

}  // namespace

TEST_CASE("one rescan of which the system calls are counted", "[.]") {
  const char* root = std::getenv(kRoot);  // NOLINT(concurrency-mt-unsafe)
  REQUIRE(root != nullptr);
  const SysRoot sys(root);
  auto last = scan(sys, nullptr);
  REQUIRE(last);
  (void)::access(kBegin, F_OK);
  const auto now = rescan(sys, nullptr, *std::move(last), {.devices = {"0000:00:01.3"}});
  (void)::access(kEnd, F_OK);
  REQUIRE(now);
}

TEST_CASE("a rescan after an event about one VF costs the same on a node of 8 VFs and of 1,024") {
  const int few = calls_of_rescan(1);
  const int many = calls_of_rescan(128);
  CAPTURE(few, many);
  CHECK(many == few);
  CHECK(many <= 180);
}

}  // namespace vfrail::test
