#include "plugin/inventory/function_reader.h"

#include "common/text.h"
#include "plugin/inventory/netdev_facts.h"
#include "plugin/inventory/rdma_facts.h"
#include "plugin/inventory/vdpa_facts.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace vfrail {

namespace {

// Base classes of the PCI Code and ID Assignment Specification.
constexpr std::string_view kNetworkClass = "0x02";
constexpr std::string_view kAcceleratorClass = "0x12";
constexpr std::string_view kInfinibandClass = "0x0207";
constexpr std::string_view kIntel = "8086";
constexpr std::string_view kMellanox = "15b3";
constexpr const char* kDdpVersion = "fw.app.name";  // devlink-info.rst, set by ice

// What the bus tells of a function in one file (pci_uevent() in drivers/pci/pci-driver.c), which has the same
// in a file each: "PCI_CLASS=20000", "PCI_ID=15B3:101E", "PCI_SUBSYS_ID=15B3:0051".
struct BusIds {
  std::string class_code;
  std::vector<std::string> id;         // vendor, device
  std::vector<std::string> subsystem;  // vendor, device
};

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

BusIds parse_uevent(std::string_view text) {
  BusIds out;
  for (const std::string& line : split(text, "\n")) {
    const auto value = [&](std::string_view key) -> std::optional<std::string> {
      if (!line.starts_with(key)) return std::nullopt;
      return lower_case(std::string_view(line).substr(key.size()));
    };
    if (const auto code = value("PCI_CLASS="))
      out.class_code = "0x" + std::string(code->size() < 6 ? 6 - code->size() : 0, '0') + *code;
    if (const auto id = value("PCI_ID=")) out.id = split(*id, ":");
    if (const auto id = value("PCI_SUBSYS_ID=")) out.subsystem = split(*id, ":");
  }
  out.id.resize(2);
  out.subsystem.resize(2);
  return out;
}

Result<> read_bus_facts(const SysRoot& sys, const FunctionFolder& folder, const PciAddress& address,
                        BusIds ids, PciFunction& out) {
  out.address = address;
  out.class_code = std::move(ids.class_code);
  out.vendor = std::move(ids.id[0]);
  out.device = std::move(ids.id[1]);
  out.subsystem_vendor = std::move(ids.subsystem[0]);
  out.subsystem_device = std::move(ids.subsystem[1]);
  out.driver = TRY(folder.link_name("driver"), "").value_or("");
  out.pcie_path = TRY(read_pcie_path(sys, address), "");
  out.numa_node = numa_node_of(TRY(folder.number("numa_node"), ""));
  out.acpi_index = TRY(folder.text("acpi_index"), "");
  return {};
}

DevlinkHandle devlink_handle(const PciFunction& function) {
  if (function.kind == FunctionKind::sub_function) return {"auxiliary", function.aux_name};
  return {"pci", function.address.text()};
}

// devlink tells about this machine, not about a captured tree.
Result<std::optional<Devlink>> open_devlink(const SysRoot& sys) {
  return sys.path("") == "/" ? Devlink::open() : std::optional<Devlink>();
}

}  // namespace

Result<FailedReporters> read_failed_reporters(const SysRoot& sys) {
  auto devlink = TRY(open_devlink(sys), "");
  return devlink ? devlink->failed_reporters() : FailedReporters();
}

Result<FunctionReader> FunctionReader::open(const SysRoot& sys, const FailedReporters& failed) {
  auto vdpa = TRY(read_vdpa_devices(sys), "find the vDPA devices");
  return FunctionReader(sys, failed, std::move(vdpa), TRY(open_devlink(sys), ""));
}

FunctionReader::FunctionReader(const SysRoot& sys, const FailedReporters& failed,
                               std::map<PciAddress, Vdpa> vdpa, std::optional<Devlink> devlink)
    : sys_(sys), vdpa_(std::move(vdpa)), devlink_(std::move(devlink)), failed_reporters_(failed) {}

Result<const FunctionReader::PfFacts*> FunctionReader::pf_facts(const PciAddress& pf) {
  const auto known = pfs_.find(pf);
  if (known != pfs_.end()) return &std::as_const(known->second);
  PfFacts out;
  const FunctionFolder folder(sys_, pci_folder(pf));
  const std::string driver = TRY(folder.link_name("driver"), "").value_or("");
  const auto netdevs = TRY(read_netdevs(folder, driver), "");
  if (const Netdev* uplink = TRY(find_uplink(sys_, netdevs), "")) {
    out.name = uplink->name;
    out.link_type = link_type_name(uplink->type);
  }
  const auto rdma = TRY(read_rdma(folder, TRY(read_verbs_nodes(folder), "")), "");
  out.port = physical_port(pf, out.name, netdevs, rdma);
  for (int index = 0;; ++index) {
    const auto vf = TRY(folder.link_name("virtfn" + std::to_string(index)), "");
    if (!vf) break;
    out.vf_indexes.emplace(*vf, index);
  }
  return &std::as_const(pfs_.emplace(pf, std::move(out)).first->second);
}

PhysicalPort FunctionReader::physical_port(const PciAddress& pf, const std::string& uplink,
                                           const std::vector<Netdev>& netdevs,
                                           const std::vector<RdmaFacts>& rdma) const {
  PhysicalPort out;
  for (const Netdev& netdev : netdevs) {
    if (netdev.name != uplink) continue;
    out.up = netdev.up;
    out.carrier = netdev.carrier;
  }
  for (const RdmaFacts& device : rdma)
    out.rdma.insert(out.rdma.end(), device.ports.begin(), device.ports.end());
  const auto failed = failed_reporters_.find(pf.text());
  if (failed != failed_reporters_.end()) out.failed_reporters = failed->second;
  return out;
}

Result<> FunctionReader::take_from_pf(PciFunction& out) {
  if (!out.pf) return {};
  const PfFacts& pf = *TRY(pf_facts(*out.pf), "read its PF " + out.pf->text());
  out.pf_name = pf.name;
  out.port = pf.port;
  if (out.netdevs.empty()) out.link_type = pf.link_type;
  const auto index = pf.vf_indexes.find(out.address.text());
  if (index != pf.vf_indexes.end() && out.is_vf()) out.vf_index = index->second;
  return {};
}

Result<> FunctionReader::read_network_facts(const FunctionFolder& folder, PciFunction& out) {
  out.netdevs = TRY(read_netdevs(folder, out.driver), "");
  out.verbs_nodes = TRY(read_verbs_nodes(folder), "");
  out.rdma = TRY(read_rdma(folder, out.verbs_nodes), "");
  if (const Netdev* uplink = TRY(find_uplink(sys_, out.netdevs), "")) {
    const auto at = out.netdevs.begin() + (uplink - out.netdevs.data());
    std::rotate(out.netdevs.begin(), at, at + 1);
    out.link_type = link_type_name(out.netdevs.front().type);
  }
  if (!out.pf) {
    const std::string uplink = out.netdevs.empty() ? "" : out.netdevs.front().name;
    out.port = physical_port(out.address, uplink, out.netdevs, out.rdma);
  }
  TRY(take_from_pf(out), "");
  TRY(decide_rdma_capable(out), "");
  if (out.link_type == "infiniband" && !out.rdma.empty())
    out.pkey = TRY(folder.text_of_firmware("infiniband/" + out.rdma.front().name + "/ports/1/pkeys/0"), "");
  return {};
}

// The vital product data of such a function has the word SW_MNG, which is how NVIDIA's fabric manager finds
// it (its user guide, "Identifying the NVLink management ports"). Reading them takes milliseconds of
// configuration cycles (pci_vpd_read()), so it is asked only of what can be one: an InfiniBand function of
// that vendor, with an RDMA device and without VFs.
Result<> FunctionReader::read_nvlink_management(const FunctionFolder& folder, PciFunction& out) const {
  if (!out.class_code.starts_with(kInfinibandClass) || out.vendor != kMellanox || out.pf || out.num_vfs > 0 ||
      out.rdma.empty()) {
    return {};
  }
  const auto data = folder.text_of_firmware("vpd");
  // Root's alone (vpd_attr): another user's `inspect` goes on without.
  if (!data && data.error().code == Errc::denied) return {};
  if (!data) return data.error();
  out.manages_nvlink = data->find("SW_MNG") != std::string::npos;
  return {};
}

Result<> FunctionReader::read_userspace_facts(const FunctionFolder& folder, PciFunction& out) const {
  out.iommu_group = TRY(folder.link_name("iommu_group"), "").value_or("");
  const auto vdpa = vdpa_.find(out.address);
  if (vdpa != vdpa_.end()) out.vdpa = vdpa->second;
  // A function has one driver: with interfaces of the kernel's it has none of user space.
  if (!out.netdevs.empty() || !out.verbs_nodes.empty()) return {};
  if (!out.iommu_group.empty()) out.vfio_noiommu = TRY(folder.text("iommu_group/name"), "") == "vfio-noiommu";
  // Each device that vfio has is in vfio-dev, and has a number if the kernel has VFIO_DEVICE_CDEV (6.6 on).
  if (!out.driver.empty()) {
    const auto vfios = TRY(folder.list("vfio-dev"), "");
    if (!vfios.empty() && TRY(folder.exists("vfio-dev/" + vfios.front() + "/dev"), ""))
      out.vfio_cdev = vfios.front();
  }
  const auto uios = TRY(folder.list("uio"), "");
  if (!uios.empty()) out.uio = uios.front();
  return {};
}

Result<> FunctionReader::decide_rdma_capable(PciFunction& out) {
  const bool visible = !out.rdma.empty() || !out.verbs_nodes.empty();
  const bool enabled = !visible && devlink_ && !out.driver.empty() &&
                       TRY(devlink_->enable_rdma(devlink_handle(out)), "").value_or(false);
  out.rdma_capable = visible || enabled;
  if (!out.rdma.empty()) {
    out.rdma_capable_why = "it has the RDMA device " + out.rdma.front().name;
  } else if (visible) {
    out.rdma_capable_why =
        "it has " + out.verbs_nodes.front() + ", whose RDMA device is in another network namespace";
  } else if (enabled) {
    out.rdma_capable_why = "devlink says enable_rdma";
  } else {
    out.rdma_capable_why =
        "it has neither an RDMA device nor a verbs node, and devlink does not say enable_rdma";
  }
  return {};
}

// DDP packages exist on Intel's cards; the question costs others a firmware query.
Result<std::string> FunctionReader::ddp_profile(const PciFunction& function) {
  if (!devlink_ || function.vendor != kIntel) return std::string();
  auto name = TRY(devlink_->version(devlink_handle(function), kDdpVersion), "");
  if (!name && function.pf) name = TRY(devlink_->version({"pci", function.pf->text()}, kDdpVersion), "");
  return name.value_or("");
}

Result<std::optional<PciFunction>> FunctionReader::read(const PciAddress& address) {
  const std::string path = pci_folder(address);
  const auto uevent = TRY(sys_.text(path + "/uevent"), "");
  if (!uevent) return std::optional<PciFunction>();
  BusIds ids = parse_uevent(*uevent);
  const bool network = ids.class_code.starts_with(kNetworkClass);
  const bool accelerator = ids.class_code.starts_with(kAcceleratorClass);
  if (!network && !accelerator) return std::optional<PciFunction>();
  const FunctionFolder folder(sys_, path);
  PciFunction out;
  out.kind = network ? FunctionKind::network : FunctionKind::accelerator;
  TRY(read_bus_facts(sys_, folder, address, std::move(ids), out), "");
  if (const auto physfn = TRY(folder.link_name("physfn"), "")) out.pf = PciAddress::parse(*physfn);
  if (!out.pf) {  // a VF has no VFs
    out.total_vfs = static_cast<uint32_t>(TRY(folder.number("sriov_totalvfs"), "").value_or(0));
    out.num_vfs = static_cast<uint32_t>(TRY(folder.number("sriov_numvfs"), "").value_or(0));
  }
  if (network) TRY(read_network_facts(folder, out), "");
  if (network) TRY(read_nvlink_management(folder, out), "");
  if (accelerator) TRY(take_from_pf(out), "");
  TRY(read_userspace_facts(folder, out), "");
  out.ddp_profile = TRY(ddp_profile(out), "");
  // Files are read one after another; a function that went away meanwhile has left half of them empty.
  if (!TRY(folder.exists("uevent"), "")) return std::optional<PciFunction>();
  return std::optional<PciFunction>(std::move(out));
}

Result<std::optional<PciFunction>> FunctionReader::read_sub_function(const std::string& name) {
  // Kubelet and files know a device by its id alone, so what cannot be one is none.
  const auto id = DeviceId::parse(name);
  if (!id || id->pci()) return std::optional<PciFunction>();
  const std::string path = auxiliary_folder(name);
  const auto number = TRY(sys_.text(path + "/sfnum"), "");
  const auto parent = innermost_function(TRY(sys_.link_target(path), "").value_or(""));
  if (!number || !parent) return std::optional<PciFunction>();
  PciFunction out;
  out.kind = FunctionKind::sub_function;
  const FunctionFolder parent_folder(sys_, pci_folder(*parent));
  BusIds ids = parse_uevent(TRY(parent_folder.text("uevent"), ""));
  TRY(read_bus_facts(sys_, parent_folder, *parent, std::move(ids), out), "");
  const FunctionFolder folder(sys_, path);
  out.aux_name = name;
  const auto sf_number = TRY(folder.number("sfnum"), "");
  if (!sf_number || *sf_number < 0 || *sf_number > UINT32_MAX) return std::optional<PciFunction>();
  out.sf_number = static_cast<uint32_t>(*sf_number);
  out.pf = *parent;
  TRY(read_network_facts(folder, out), "");
  if (!TRY(folder.exists("sfnum"), "")) return std::optional<PciFunction>();
  return std::optional<PciFunction>(std::move(out));
}

}  // namespace vfrail
