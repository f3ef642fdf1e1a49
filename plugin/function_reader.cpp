#include "plugin/function_reader.h"

#include "plugin/netdev_facts.h"
#include "plugin/rdma_facts.h"
#include "plugin/vdpa_facts.h"

#include <algorithm>

namespace vfrail {

namespace {

// Base classes of the PCI Code and ID Assignment Specification.
constexpr std::string_view kNetworkClass = "0x02";
constexpr std::string_view kAcceleratorClass = "0x12";
constexpr std::string_view kIntel = "8086";
constexpr const char* kDdpVersion = "fw.app.name";  // devlink-info.rst, set by ice

// "0x15b3" -> "15b3".
std::string pci_id(const FunctionFolder& folder, std::string_view entry) {
  std::string text = folder.text(entry);
  return text.starts_with("0x") ? text.substr(2) : text;
}

void read_bus_facts(const FunctionFolder& folder, const PciAddress& address, Function& out) {
  out.address = address;
  out.class_code = folder.text("class");
  out.vendor = pci_id(folder, "vendor");
  out.device = pci_id(folder, "device");
  out.subsystem_vendor = pci_id(folder, "subsystem_vendor");
  out.subsystem_device = pci_id(folder, "subsystem_device");
  out.driver = folder.link_name("driver").value_or("");
  out.pcie_path = read_pcie_path(folder.sys(), address);
  const auto node = folder.number("numa_node");
  if (node && *node >= 0) out.numa_node = static_cast<int>(*node);
  out.acpi_index = folder.text("acpi_index");
}

DevlinkHandle devlink_handle(const Function& function) {
  if (function.kind == FunctionKind::sub_function) return {"auxiliary", function.aux_name};
  return {"pci", function.address.text()};
}

}  // namespace

FunctionReader::FunctionReader(const SysRoot& sys) : sys_(sys), vdpa_(read_vdpa_devices(sys)) {
  // devlink tells about this machine, not about a captured tree.
  if (sys.path("") == "/") devlink_ = Devlink::open();
}

const FunctionReader::PfFacts& FunctionReader::pf_facts(const PciAddress& pf) {
  const auto known = pfs_.find(pf);
  if (known != pfs_.end()) return known->second;
  PfFacts out;
  const FunctionFolder folder(sys_, pci_folder(pf));
  const auto netdevs = read_netdevs(folder);
  if (const Netdev* uplink = find_uplink(sys_, netdevs)) {
    out.name = uplink->name;
    out.link_type = link_type_name(uplink->type);
  }
  for (int index = 0;; ++index) {
    const auto vf = folder.link_name("virtfn" + std::to_string(index));
    if (!vf) break;
    out.vf_indexes.emplace(*vf, index);
  }
  return pfs_.emplace(pf, std::move(out)).first->second;
}

void FunctionReader::take_from_pf(Function& out) {
  if (!out.pf) return;
  const PfFacts& pf = pf_facts(*out.pf);
  out.pf_name = pf.name;
  if (out.netdevs.empty()) out.link_type = pf.link_type;
  const auto index = pf.vf_indexes.find(out.address.text());
  if (index != pf.vf_indexes.end() && out.is_vf()) out.vf_index = index->second;
}

void FunctionReader::read_network_facts(const FunctionFolder& folder, Function& out) {
  out.netdevs = read_netdevs(folder);
  out.rdma = read_rdma(folder);
  out.verbs_nodes = read_verbs_nodes(folder);
  if (const Netdev* uplink = find_uplink(sys_, out.netdevs)) {
    const auto at = out.netdevs.begin() + (uplink - out.netdevs.data());
    std::rotate(out.netdevs.begin(), at, at + 1);
    out.link_type = link_type_name(out.netdevs.front().type);
  }
  take_from_pf(out);
  decide_rdma_capable(out);
  if (out.link_type == "infiniband" && !out.rdma.empty()) {
    const std::string file = folder.path("infiniband/" + out.rdma.front().name + "/ports/1/pkeys/0");
    out.pkey = sys_.text_or_none(file).value_or("");
  }
}

void FunctionReader::read_userspace_facts(const FunctionFolder& folder, Function& out) const {
  out.iommu_group = folder.link_name("iommu_group").value_or("");
  out.vfio_noiommu = !out.iommu_group.empty() &&
                     sys_.text_or_none(folder.path("iommu_group/name")).value_or("") == "vfio-noiommu";
  const auto uios = folder.list("uio");
  if (!uios.empty()) out.uio = uios.front();
  const auto vdpa = vdpa_.find(out.address);
  if (vdpa != vdpa_.end()) out.vdpa = vdpa->second;
}

void FunctionReader::decide_rdma_capable(Function& out) {
  if (!out.rdma.empty()) {
    out.rdma_capable = true;
    out.rdma_capable_why = "it has the RDMA device " + out.rdma.front().name;
  } else if (!out.verbs_nodes.empty()) {
    out.rdma_capable = true;
    out.rdma_capable_why =
        "it has " + out.verbs_nodes.front() + ", whose RDMA device is in another network namespace";
  } else if (devlink_ && !out.driver.empty() && devlink_->enable_rdma(devlink_handle(out)).value_or(false)) {
    out.rdma_capable = true;
    out.rdma_capable_why = "devlink says enable_rdma";
  } else {
    out.rdma_capable_why =
        "it has neither an RDMA device nor a verbs node, and devlink does not say enable_rdma";
  }
}

// DDP packages exist on Intel's cards; the question costs others a firmware query.
std::string FunctionReader::ddp_profile(const Function& function) {
  if (!devlink_ || function.vendor != kIntel) return {};
  auto name = devlink_->version(devlink_handle(function), kDdpVersion);
  if (!name && function.pf) name = devlink_->version({"pci", function.pf->text()}, kDdpVersion);
  return name.value_or("");
}

Result<std::optional<Function>> FunctionReader::read(const PciAddress& address) {
  const std::string path = pci_folder(address);
  const auto class_code = TRY(sys_.text(path + "/class"), "");
  const bool network = class_code && class_code->starts_with(kNetworkClass);
  const bool accelerator = class_code && class_code->starts_with(kAcceleratorClass);
  if (!network && !accelerator) return std::optional<Function>();
  const FunctionFolder folder(sys_, path);
  Function out;
  out.kind = network ? FunctionKind::network : FunctionKind::accelerator;
  read_bus_facts(folder, address, out);
  if (const auto physfn = folder.link_name("physfn")) out.pf = PciAddress::parse(*physfn);
  out.total_vfs = static_cast<uint32_t>(folder.number("sriov_totalvfs").value_or(0));
  out.num_vfs = static_cast<uint32_t>(folder.number("sriov_numvfs").value_or(0));
  if (network) read_network_facts(folder, out);
  if (accelerator) take_from_pf(out);
  read_userspace_facts(folder, out);
  out.ddp_profile = ddp_profile(out);
  // Files are read one after another; a function that went away meanwhile has left half of them empty.
  if (!sys_.exists(path + "/vendor")) return std::optional<Function>();
  return std::optional<Function>(std::move(out));
}

Result<std::optional<Function>> FunctionReader::read_sub_function(const std::string& name) {
  const std::string path = auxiliary_folder(name);
  const auto number = TRY(sys_.text(path + "/sfnum"), "");
  const auto parent = innermost_function(sys_.link_target(path).value_or(""));
  if (!number || !parent) return std::optional<Function>();
  Function out;
  out.kind = FunctionKind::sub_function;
  read_bus_facts(FunctionFolder(sys_, pci_folder(*parent)), *parent, out);
  const FunctionFolder folder(sys_, path);
  out.aux_name = name;
  const auto sf_number = folder.number("sfnum");
  if (!sf_number || *sf_number < 0) return std::optional<Function>();
  out.sf_number = static_cast<uint32_t>(*sf_number);
  out.pf = *parent;
  read_network_facts(folder, out);
  if (!sys_.exists(path + "/sfnum")) return std::optional<Function>();
  return std::optional<Function>(std::move(out));
}

}  // namespace vfrail
