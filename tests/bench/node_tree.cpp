#include "tests/bench/node_tree.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace vfrail::bench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kPfs = 8;

// What else is in the folder of a VF on a server (Linux 6.12, ConnectX-7), which costs a scan that lists it.
constexpr std::array kOtherEntries = {"aer_dev_correctable",
                                      "aer_dev_fatal",
                                      "aer_dev_nonfatal",
                                      "ari_enabled",
                                      "broken_parity_status",
                                      "config",
                                      "consistent_dma_mask_bits",
                                      "current_link_speed",
                                      "current_link_width",
                                      "d3cold_allowed",
                                      "dma_mask_bits",
                                      "driver_override",
                                      "enable",
                                      "irq",
                                      "link",
                                      "local_cpulist",
                                      "local_cpus",
                                      "max_link_speed",
                                      "max_link_width",
                                      "modalias",
                                      "msi_bus",
                                      "msi_irqs",
                                      "power",
                                      "power_state",
                                      "remove",
                                      "rescan",
                                      "reset",
                                      "reset_method",
                                      "resource",
                                      "resource0",
                                      "revision",
                                      "sriov_vf_msix_count",
                                      "vpd"};

class Writer {
 public:
  explicit Writer(std::string root) : root_(std::move(root)) {}

  void file(const std::string& below, const std::string& text) const {
    const std::string path = root_ + "/" + below;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream out(path);
    out << text << '\n';
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
  }
  void link(const std::string& below, const std::string& target) const {
    const std::string path = root_ + "/" + below;
    fs::create_directories(fs::path(path).parent_path());
    fs::create_symlink(target, path);
  }

 private:
  std::string root_;
};

std::string format(const char* pattern, size_t a, size_t b = 0, size_t c = 0) {
  char out[64];
  std::snprintf(out, sizeof out, pattern, a, b, c);
  return out;
}

std::string pf_address(size_t pf) { return format("0000:%02zx:00.0", 0x10 + pf * 0x10); }
std::string bridge(size_t pf) {
  return format("sys/devices/pci0000:%02zx/0000:%02zx:01.0", 0xf + pf * 0x10, 0xf + pf * 0x10);
}

void write_function(const Writer& out, size_t pf, const std::string& address, const std::string& netdev) {
  const std::string base = bridge(pf) + "/" + address;
  for (const char* entry : kOtherEntries) out.file(base + "/" + entry, "");
  out.file(base + "/uevent", "PCI_CLASS=20000\nPCI_ID=15B3:101E\nPCI_SUBSYS_ID=15B3:0051");
  out.file(base + "/numa_node", std::to_string(pf % 2));
  out.link(base + "/driver", "../../../../bus/pci/drivers/mlx5_core");
  out.link("sys/bus/pci/devices/" + address, "../../../" + base.substr(4));
  const std::string net = base + "/net/" + netdev;
  out.file(net + "/address", "02:00:00:00:00:01");
  out.file(net + "/mtu", "1500");
  out.file(net + "/type", "1");
  out.file(net + "/operstate", "down");
  out.file(net + "/carrier", "0");
  out.file(net + "/flags", "0x1002");
  out.file(net + "/ifindex", "7");
  for (const char* counter : {"rx_bytes", "rx_packets", "rx_dropped", "tx_bytes", "tx_packets", "tx_dropped"})
    out.file(net + "/statistics/" + counter, "1234567");
  out.link("sys/class/net/" + netdev, "../../" + net.substr(4));
}

void write_rdma(const Writer& out, const std::string& base, size_t number) {
  const std::string n = std::to_string(number);
  const std::string port = base + "/infiniband/mlx5_" + n + "/ports/1";
  out.file(base + "/infiniband/mlx5_" + n + "/node_guid", "0200:00ff:fe00:0001");
  out.file(port + "/state", "4: ACTIVE");
  out.file(port + "/phys_state", "5: LinkUp");
  out.file(port + "/link_layer", "Ethernet");
  out.file(base + "/infiniband_verbs/uverbs" + n + "/ibdev", "mlx5_" + n);
  out.file(base + "/infiniband_mad/umad" + n + "/ibdev", "mlx5_" + n);
  out.file(base + "/infiniband_mad/umad" + n + "/port", "1");
}

}  // namespace

std::string vf_address(size_t pf, size_t vf) {
  return format("0000:%02zx:%02zx.%zx", 0x10 + pf * 0x10 + (vf + 8) / 256, (vf + 8) / 8 % 32, (vf + 8) % 8);
}

void write_node(const std::string& root, size_t vfs) {
  const Writer out(root);
  out.file("dev/infiniband/rdma_cm", "");
  out.file("sys/module/ib_core/parameters/netns_mode", "Y");
  out.file("proc/1/net/route", "Iface\tDestination\tGateway");
  // As dev_seq_show() writes it.
  std::string dev = "Inter-|   Receive  |  Transmit\n face |bytes    packets errs drop\n";
  const auto add_netdev = [&](const std::string& name) {
    dev += name +
           ": 1234567    1234    0    0    0     0          0         0  1234567    1234    0    0    0     "
           "0       0          0\n";
  };
  size_t rdma = 0;
  for (size_t pf = 0; pf < kPfs; ++pf) {
    const std::string base = bridge(pf) + "/" + pf_address(pf);
    write_function(out, pf, pf_address(pf), "eth" + std::to_string(pf));
    add_netdev("eth" + std::to_string(pf));
    const size_t count = vfs / kPfs;
    out.file(base + "/sriov_totalvfs", "256");
    out.file(base + "/sriov_numvfs", std::to_string(count));
    for (size_t vf = 0; vf < count; ++vf) {
      const std::string address = vf_address(pf, vf);
      const std::string folder = bridge(pf) + "/" + address;
      write_function(out, pf, address, "eth" + std::to_string(pf) + "v" + std::to_string(vf));
      add_netdev("eth" + std::to_string(pf) + "v" + std::to_string(vf));
      out.link(folder + "/physfn", "../" + pf_address(pf));
      out.link(folder + "/iommu_group", "../../../../kernel/iommu_groups/" + std::to_string(rdma));
      out.file("sys/kernel/iommu_groups/" + std::to_string(rdma) + "/type", "DMA");
      write_rdma(out, folder, rdma++);
      out.link(base + "/virtfn" + std::to_string(vf), "../" + address);
    }
  }
  out.file("proc/1/net/dev", dev);
}

}  // namespace vfrail::bench
