#include "common/node/device.h"

#include "common/node/device_folder.h"
#include "common/text.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace vfrail {

namespace {

constexpr int64_t kMostNumaNodes = 1 << 16;  // MAX_NUMNODES is 1024 at most

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// What the bus says of a function in one file (pci_uevent() in drivers/pci/pci-driver.c), which has the same
// in a file each: "PCI_CLASS=20000", "PCI_ID=15B3:101E", "PCI_SUBSYS_ID=15B3:0051".
void parse_uevent(std::string_view text, Device& out) {
  for (const std::string& line : split(text, "\n")) {
    const size_t equals = std::min(line.find('='), line.size() - 1);
    const std::string key = line.substr(0, equals);
    const std::string value = lower_case(std::string_view(line).substr(equals + 1));
    const size_t colon = std::min(value.find(':'), value.size());
    const std::string first = value.substr(0, colon);
    const std::string second = value.substr(std::min(colon + 1, value.size()));
    if (key == "PCI_CLASS") {
      out.class_code = "0x" + std::string(value.size() < 6 ? 6 - value.size() : 0, '0') + value;
    } else if (key == "PCI_ID") {
      std::tie(out.vendor, out.device) = std::pair(first, second);
    } else if (key == "PCI_SUBSYS_ID") {
      std::tie(out.subsystem_vendor, out.subsystem_device) = std::pair(first, second);
    }
  }
}

// "0x15B3" -> "15b3".
Result<std::string> read_id(const DeviceFolder& folder, const char* file) {
  const std::string text = lower_case(TRY(folder.text(file)));
  return text.starts_with("0x") ? text.substr(2) : text;
}

// A tree that somebody has written by hand can lack uevent, which the peers do not read.
Result<bool> read_id_files(const DeviceFolder& folder, Device& out) {
  const std::string code = TRY(read_id(folder, "class"));
  if (code.empty()) return false;
  out.class_code = "0x" + code;
  out.vendor = TRY(read_id(folder, "vendor"));
  out.device = TRY(read_id(folder, "device"));
  out.subsystem_vendor = TRY(read_id(folder, "subsystem_vendor"));
  out.subsystem_device = TRY(read_id(folder, "subsystem_device"));
  return true;
}

Result<bool> read_ids(const SysRoot& sys, Device& out) {
  const auto uevent = TRY(sys.text(device_folder(out.id) + "/uevent"));
  if (!uevent) return read_id_files(DeviceFolder(sys, out.id), out);
  parse_uevent(*uevent, out);
  return true;
}

// The link in the bus's folder has the device's place: "../../../devices/pci0000:16/0000:16:01.0/...".
Result<std::string> read_path(const SysRoot& sys, const DeviceId& id) {
  return TRY(sys.link_target(device_folder(id))).value_or("");
}

Result<> read_place(const SysRoot& sys, const DeviceFolder& folder, Device& out) {
  const std::string path = TRY(read_path(sys, out.id));
  const size_t start = path.find("/pci");
  if (start != std::string::npos) out.pcie_path = split(path.substr(start), "/");
  out.acpi_index = TRY(folder.text("acpi_index"));
  out.acpi_index.erase(0, out.acpi_index.find_first_not_of(" \t"));  // behind it text() does so
  return {};
}

Result<> read_pf(const SysRoot& sys, const DeviceFolder& folder, Device& out) {
  out.pf = out.id.pci() ? PciAddress::parse(TRY(folder.link_name("physfn")))
                        : innermost_function(TRY(read_path(sys, out.id)));
  return {};
}

Result<> read_vf_counts(const DeviceFolder& folder, Device& out) {
  if (out.pf) return {};  // a VF has no VFs
  out.total_vfs = static_cast<uint32_t>(TRY(folder.number("sriov_totalvfs")).value_or(0));
  out.num_vfs = TRY(read_num_vfs(folder));
  return {};
}

Result<> read_rdma(const DeviceFolder& folder, Facts wanted, Device& out) {
  if (has(wanted, Facts::verbs_nodes | Facts::rdma_ports)) out.verbs_nodes = TRY(folder.list(kVerbsNodes));
  if (has(wanted, Facts::mad_nodes)) out.mad_nodes = TRY(folder.list(kMadNodes));
  if (!has(wanted, Facts::rdma | Facts::link_layer | Facts::rdma_ports)) return {};
  for (const std::string& name : TRY(folder.list(kRdmaDevices))) out.rdma.push_back({.name = RdmaName(name)});
  if (has(wanted, Facts::rdma_ports)) return read_rdma_ports(folder, out.verbs_nodes, out.rdma);
  for (RdmaFacts& one : out.rdma) {
    if (has(wanted, Facts::link_layer)) TRY(read_link_layer(folder, one));
  }
  return {};
}

// A function has one driver: one with kernel interfaces is not for user space.
Result<> read_user_nodes(const DeviceFolder& folder, Device& out) {
  out.iommu_group = TRY(folder.link_name("iommu_group"));
  if (!out.netdevs.empty() || !out.verbs_nodes.empty()) return {};
  if (!out.iommu_group.empty()) out.vfio_noiommu = TRY(folder.text("iommu_group/name")) == "vfio-noiommu";
  // Each vfio device is in vfio-dev, and has a number if the kernel has VFIO_DEVICE_CDEV (6.6 on).
  if (out.driver.is_bound()) {
    const auto vfios = TRY(folder.list("vfio-dev"));
    if (!vfios.empty() && TRY(folder.exists("vfio-dev/" + vfios.front() + "/dev")))
      out.vfio_cdev = vfios.front();
  }
  const auto uios = TRY(folder.list("uio"));
  if (!uios.empty()) out.uio = uios.front();
  return {};
}

constexpr Facts kNetdevFacts = Facts::netdevs | Facts::dev_ports | Facts::netdev_settings;
constexpr Facts kManyFiles = Facts::netdev_settings | Facts::rdma_ports;

}  // namespace

std::string Device::key() const {
  if (!id.empty()) return id.text();
  return netdevs.empty() ? std::string() : "netdev." + netdevs.front().name;
}

std::string Device::missing_part() const {
  if (driver.is_user_space() || !driver.is_bound()) return "";
  if (netdevs.empty() && (rdma.empty() || is_on_ethernet())) return "interface";
  if (misses_rdma()) return "RDMA device";
  return "";
}

Transport Device::transport() const {
  for (const RdmaFacts& one : rdma) {
    if (one.transport() != Transport::unknown) return one.transport();
  }
  return Transport::unknown;
}

bool Device::is_on_ethernet() const {
  return std::any_of(rdma.begin(), rdma.end(), [](const RdmaFacts& one) {
    return !one.ports.empty() && one.ports.front().link_layer == "Ethernet";
  });
}

std::vector<std::string> Device::netdev_names() const {
  std::vector<std::string> out;
  for (const Netdev& netdev : netdevs) out.push_back(netdev.name);
  return out;
}

std::vector<std::string> Device::rdma_names() const {
  std::vector<std::string> out;
  for (const RdmaFacts& one : rdma) out.push_back(one.name);
  return out;
}

std::vector<std::string> Device::rdma_nodes() const {
  std::vector<std::string> out = mad_nodes;
  out.insert(out.end(), verbs_nodes.begin(), verbs_nodes.end());
  std::sort(out.begin(), out.end());
  return out;
}

size_t Device::visible_rdma_nodes() const {
  size_t out = 0;
  for (const RdmaFacts& one : rdma) {
    out += one.uverbs.empty() ? 0 : 1;
    for (const RdmaPort& port : one.ports) out += (port.umad.empty() ? 0 : 1) + (port.issm.empty() ? 0 : 1);
  }
  return out;
}

Result<std::optional<int>> read_numa_node(const DeviceFolder& folder) {
  const auto node = TRY(folder.number("numa_node"));
  if (!node || *node < 0 || *node >= kMostNumaNodes) return std::optional<int>();
  return std::optional(static_cast<int>(*node));
}

Result<uint32_t> read_num_vfs(const DeviceFolder& folder) {
  return static_cast<uint32_t>(TRY(folder.number("sriov_numvfs")).value_or(0));
}

// Of the netdev, where the kernel answers -1 without a link; of an InfiniBand port its rate, which is that of
// the slowest link there is (10 Gb/s, 4X SDR) while the port is down.
std::optional<uint32_t> read_port_speed(const SysRoot& sys, const Device& device) {
  for (const Netdev& netdev : device.netdevs) {
    const auto speed = sys.number("sys/class/net/" + netdev.name + "/speed").or_none();
    if (speed && *speed > 0 && *speed < UINT32_MAX) return static_cast<uint32_t>(*speed);
  }
  const DeviceFolder folder(sys, device.id);
  for (const RdmaFacts& rdma : device.rdma) {
    if (!rdma.ports.empty() && rdma.ports.front().state == "DOWN") continue;
    const auto rate = read_port_rate(folder, rdma_port_folder(rdma.name, 1));
    if (rate && !rate->empty()) return rate_mbps(*rate);
  }
  return std::nullopt;
}

Result<bool> read_nvlink_mark(const DeviceFolder& folder) {
  return TRY(folder.text("vpd")).find(kNvlinkMark) != std::string::npos;
}

Result<bool> read_facts(const SysRoot& sys, Facts wanted, Device& device) {
  const DeviceFolder folder(
      sys, device.id, has(wanted, kManyFiles) ? DeviceFolder::Use::many_files : DeviceFolder::Use::few_files);
  if (has(wanted, Facts::place)) TRY(read_place(sys, folder, device));
  if (has(wanted, Facts::place | Facts::numa_node)) device.numa_node = TRY(read_numa_node(folder));
  if (has(wanted, Facts::pf)) TRY(read_pf(sys, folder, device));
  if (has(wanted, Facts::vf_counts)) TRY(read_vf_counts(folder, device));
  if (has(wanted, Facts::driver | kNetdevFacts)) device.driver = Driver(TRY(folder.link_name("driver")));
  if (has(wanted, kNetdevFacts)) {
    const NetdevFacts of_each{.dev_port = has(wanted, Facts::dev_ports),
                              .settings = has(wanted, Facts::netdev_settings)};
    device.netdevs = TRY(read_netdevs(folder, device.driver, of_each));
  }
  TRY(read_rdma(folder, wanted, device));
  if (has(wanted, Facts::user_nodes)) TRY(read_user_nodes(folder, device));
  return sys.exists(device_folder(device.id));
}

Result<std::optional<Device>> read_device(const SysRoot& sys, const DeviceId& id, Facts wanted) {
  Device out;
  out.id = id;
  if (has(wanted, Facts::ids) && !TRY(read_ids(sys, out))) return std::optional<Device>();
  const bool there = wanted == Facts::ids || TRY(read_facts(sys, wanted, out));
  return there ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace vfrail
