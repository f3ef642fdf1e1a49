#include "tests/cni/in_pod/pod_tree.h"

#include "cni/in_pod/pod_report.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace pod;

namespace fs = std::filesystem;

namespace {

constexpr const char* kBus = "sys/devices/pci0000:16/0000:16:01.0/";

constexpr const char* kPodJson =
    R"({"version":1,"container":"c1","pod":{"namespace":"demo","name":"trainer-0"},"interfaces":[
{"name":"net1","network":"rail0","device":"0000:17:00.1","pf":"0000:17:00.0","rdma":"mlx5_2","uverbs":"uverbs2",
 "link_layer":"Ethernet","mac":"02:00:00:00:00:01","mtu":9000,"addresses":["10.0.0.2/24"],"gid_index":3,"numa_node":0},
{"name":"net2","network":"rail1","device":"0000:17:01.1","pf":"0000:17:01.0","rdma":"mlx5_6","uverbs":"uverbs6",
 "link_layer":"Ethernet","mac":"02:00:00:00:00:02","mtu":9000,"addresses":["10.0.1.2/24"],"gid_index":3,"numa_node":0}]})";

// The address as the table has it: all eight groups.
std::string full_gid(const std::string& text) {
  const auto address = IpAddress::parse(text);
  REQUIRE(address);
  std::vector<uint8_t> bytes = address->bytes;
  if (!address->v6()) {
    bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    bytes.insert(bytes.end(), address->bytes.begin(), address->bytes.end());
  }
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i) {
    char buffer[4];
    std::snprintf(buffer, sizeof buffer, "%02x", bytes[i]);
    out += (i > 0 && i % 2 == 0 ? ":" : "") + std::string(buffer);
  }
  return out;
}

PodLink link(int index, const std::string& name, const std::string& address) {
  return {index, name, 9000, true, {cidr(address)}, {{"arp_ignore", 1}, {"arp_announce", 2}}};
}

}  // namespace

IpAddress cidr(const std::string& text) {
  const auto out = IpAddress::parse_cidr(text);
  REQUIRE(out);
  return *out;
}

PodNetwork good_network() {
  PodNetwork out;
  out.links = {link(1, "lo", "127.0.0.1/8"), link(3, "eth0", "10.244.1.7/24"), link(7, "net1", "10.0.0.2/24"),
               link(8, "net2", "10.0.1.2/24")};
  Route route;
  route.destination = cidr("0.0.0.0/0");
  route.gateway = cidr("10.244.1.1/32");
  route.link = 3;
  out.routes = {route};
  return out;
}

PodTree::PodTree() : network(good_network()) {
  add_rail("mlx5_2", "0000:17:00.1", "0000:17:00.0", "net1", "2");
  add_rail("mlx5_6", "0000:17:01.1", "0000:17:01.0", "net2", "6");
  const std::string second = std::string(kBus) + "0000:17:01.1/infiniband/mlx5_6/ports/1/";
  for (const auto& [port, netdev, address] :
       {std::tuple(std::string(kFirstPort), "net1", "10.0.0.2"), std::tuple(second, "net2", "10.0.1.2")}) {
    add_gid(port, 0, "IB/RoCE v1", netdev, "fe80::ff:fe00:1");
    add_gid(port, 1, "RoCE v2", netdev, "fe80::ff:fe00:1");
    add_gid(port, 2, "IB/RoCE v1", netdev, address);
    add_gid(port, 3, "RoCE v2", netdev, address);
  }
  add(R"(
dev/infiniband/rdma_cm/
dev/nvidia0/
proc/driver/nvidia/version = NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15
sys/module/nvidia_peermem/version = 570.86.15
dev/nvidiactl/
etc/libibverbs.d/mlx5.driver = driver mlx5
etc/passwd = root:x:0:0:root:/root:/bin/sh
usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so = library
sys/devices/system/node/node0/cpulist = 0-15
sys/fs/cgroup/memory.max = 68719476736
sys/fs/cgroup/memory.current = 1048576
proc/self/limits = Max locked memory         unlimited            unlimited            bytes
proc/1/limits = Max locked memory         unlimited            unlimited            bytes
proc/self/uid_map =          0          0 4294967295
proc/meminfo = MemTotal:       131072000 kB
)");
  add_gpu("0000:17:02.0", "0");
  write("run/vfrail/pod.json", kPodJson);
  write("proc/self/status",
        "Name:\tvfrail-check\nUid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\nCapBnd:\t00000000a80425fb\n"
        "NoNewPrivs:\t0\nSeccomp:\t2\nCpus_allowed_list:\t0-7\n");
  write("proc/self/mounts",
        "overlay / overlay rw 0 0\ntmpfs /dev tmpfs rw,size=65536k 0 0\n"
        "tmpfs /dev/shm tmpfs rw,size=8388608k 0 0\n");
}

void PodTree::add(std::string_view manifest) { write_tree(root(), manifest); }

void PodTree::write(const std::string& path, const std::string& text) {
  const fs::path at = fs::path(root()) / path;
  fs::create_directories(at.parent_path());
  std::ofstream(at) << text;
}

void PodTree::remove(const std::string& path) { fs::remove_all(folder_.path(path)); }

void PodTree::add_gid(const std::string& port, unsigned index, const std::string& type,
                      const std::string& netdev, const std::string& address) {
  const std::string entry = std::to_string(index);
  add(port + "gids/" + entry + " = " + full_gid(address) + "\n" + port + "gid_attrs/types/" + entry + " = " +
      type + "\n" + port + "gid_attrs/ndevs/" + entry + " = " + netdev + "\n");
}

void PodTree::add_rail(const std::string& name, const std::string& pci, const std::string& pf,
                       const std::string& netdev, const std::string& node) {
  const std::string device = kBus + pci + "/";
  const std::string rdma = device + "infiniband/" + name + "/";
  const std::string verbs = device + "infiniband_verbs/uverbs" + node + "/";
  const std::string up = "../../" + std::string(kBus).substr(4) + pci;
  add("sys/class/infiniband/" + name + " -> " + up + "/infiniband/" + name + "\n" +
      "sys/class/infiniband_verbs/uverbs" + node + " -> " + up + "/infiniband_verbs/uverbs" + node + "\n" +
      "sys/bus/pci/devices/" + pci + " -> ../../../" + std::string(kBus).substr(4) + pci + "\n" +
      "sys/class/net/" + netdev + " -> " + up + "/net/" + netdev + "\n" + rdma + "device -> ../../../" + pci +
      "\n" + rdma + "ports/1/state = 4: ACTIVE\n" + rdma + "ports/1/phys_state = 5: LinkUp\n" + rdma +
      "ports/1/link_layer = Ethernet\n" + rdma + "ports/1/rate = 100 Gb/sec (4X EDR)\n" + rdma +
      "ports/1/counters/port_xmit_packets = 1000000\n" + rdma + "ports/1/counters/port_xmit_data = 1000\n" +
      rdma + "ports/1/hw_counters/out_of_sequence = 0\n" + rdma +
      "ports/1/hw_counters/local_ack_timeout_err = 0\n" + verbs + "device -> ../../../" + pci + "\n" + verbs +
      "ibdev = " + name + "\n" + verbs + "dev = 231:" + node + "\n" + device + "net/" + netdev +
      "/mtu = 9000\n" + device + "physfn -> ../" + pf + "\n" + device +
      "driver -> ../../../../bus/pci/drivers/mlx5_core\n" + device + "numa_node = 0\n" +
      "dev/infiniband/uverbs" + node + "/\n" + "dev/infiniband/umad" + node + "/\n");
}

void PodTree::add_gpu(const std::string& pci, const std::string& minor) {
  const std::string device = kBus + pci + "/";
  add("sys/bus/pci/devices/" + pci + " -> ../../../devices/pci0000:16/0000:16:01.0/" + pci + "\n" + device +
      "class = 0x030200\n" + device + "numa_node = 0\n");
  write("proc/driver/nvidia/gpus/" + pci + "/information",
        "Model: \t\t NVIDIA H100\nBus Location: \t " + pci + "\nDevice Minor: \t " + minor + "\n");
}

CheckedPod PodTree::read() const {
  CheckedPod out = read_pod(sys(), environment, nullptr);
  out.network = network;
  return out;
}

}  // namespace vfrail::test
