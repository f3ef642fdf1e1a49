#include "plugin/inventory.h"

#include "plugin/devlink.h"
#include "plugin/gpu_facts.h"
#include "plugin/host_network.h"
#include "plugin/host_use.h"
#include "plugin/netdev_facts.h"
#include "plugin/rdma_facts.h"
#include "plugin/vdpa_facts.h"

#include <algorithm>
#include <map>

namespace vfrail {

namespace {

constexpr const char* kPciDevices = "sys/bus/pci/devices";
constexpr std::string_view kNetworkClass = "0x02";  // base class 02, PCI Code and ID Assignment Specification
constexpr std::string_view kIntel = "8086";
constexpr const char* kDdpVersion = "fw.app.name";  // devlink-info.rst, set by ice

// What the VFs of a PF need to know of it. Read once a scan: a PF can have 255 VFs.
struct PfFacts {
  std::string name;
  std::string link_type;
  std::map<std::string, int> vf_indexes;  // by the VF's address
};

// One pass over the node.
class Scanner {
 public:
  explicit Scanner(const SysRoot& sys) : sys_(sys), vdpa_(read_vdpa_devices(sys)) {
    // devlink tells about this machine, not about a captured tree.
    if (sys.path("") == "/") devlink_ = Devlink::open();
  }

  // Nothing if it is no network function, or gone.
  Result<std::optional<Function>> read(const PciAddress& address);

 private:
  const PfFacts& pf_facts(const PciAddress& pf);
  void read_bus_facts(const std::string& base, Function& out) const;
  void read_sriov_facts(const std::string& base, Function& out);
  void read_userspace_facts(const std::string& base, Function& out) const;
  void decide_rdma_capable(Function& out);
  std::string ddp_profile(const Function& function);

  const SysRoot& sys_;
  std::map<PciAddress, Vdpa> vdpa_;
  std::optional<Devlink> devlink_;
  std::map<PciAddress, PfFacts> pfs_;
};

// "0x15b3" -> "15b3".
std::string pci_id(const SysRoot& sys, const std::string& file) {
  std::string text = sys.text_or_none(file).value_or("");
  return text.starts_with("0x") ? text.substr(2) : text;
}

const PfFacts& Scanner::pf_facts(const PciAddress& pf) {
  const auto known = pfs_.find(pf);
  if (known != pfs_.end()) return known->second;
  PfFacts out;
  const auto netdevs = read_netdevs(sys_, pf);
  if (const Netdev* uplink = find_uplink(sys_, netdevs)) {
    out.name = uplink->name;
    out.link_type = link_type_name(uplink->type);
  }
  const std::string base = pci_folder(pf) + "/";
  for (int index = 0;; ++index) {
    const auto vf = sys_.link_name(base + "virtfn" + std::to_string(index));
    if (!vf) break;
    out.vf_indexes.emplace(*vf, index);
  }
  return pfs_.emplace(pf, std::move(out)).first->second;
}

void Scanner::read_bus_facts(const std::string& base, Function& out) const {
  out.device = pci_id(sys_, base + "device");
  out.subsystem_vendor = pci_id(sys_, base + "subsystem_vendor");
  out.subsystem_device = pci_id(sys_, base + "subsystem_device");
  out.driver = sys_.link_name(base + "driver").value_or("");
  out.pcie_path = read_pcie_path(sys_, out.address);
  const auto node = sys_.number_or_none(base + "numa_node");
  if (node && *node >= 0) out.numa_node = static_cast<int>(*node);
  out.acpi_index = sys_.text_or_none(base + "acpi_index").value_or("");
}

void Scanner::read_sriov_facts(const std::string& base, Function& out) {
  if (const auto physfn = sys_.link_name(base + "physfn")) out.pf = PciAddress::parse(*physfn);
  out.total_vfs = static_cast<uint32_t>(sys_.number_or_none(base + "sriov_totalvfs").value_or(0));
  out.num_vfs = static_cast<uint32_t>(sys_.number_or_none(base + "sriov_numvfs").value_or(0));
  if (const Netdev* uplink = find_uplink(sys_, out.netdevs)) {
    const auto at = out.netdevs.begin() + (uplink - out.netdevs.data());
    std::rotate(out.netdevs.begin(), at, at + 1);
    out.link_type = link_type_name(out.netdevs.front().type);
  }
  if (!out.pf) return;
  const PfFacts& pf = pf_facts(*out.pf);
  out.pf_name = pf.name;
  if (out.netdevs.empty()) out.link_type = pf.link_type;
  const auto index = pf.vf_indexes.find(out.address.text());
  if (index != pf.vf_indexes.end()) out.vf_index = index->second;
}

void Scanner::read_userspace_facts(const std::string& base, Function& out) const {
  out.iommu_group = sys_.link_name(base + "iommu_group").value_or("");
  out.vfio_noiommu = sys_.text_or_none(base + "iommu_group/name").value_or("") == "vfio-noiommu";
  const auto uios = sys_.list(base + "uio");
  if (!uios.empty()) out.uio = uios.front();
  const auto vdpa = vdpa_.find(out.address);
  if (vdpa != vdpa_.end()) out.vdpa = vdpa->second;
}

void Scanner::decide_rdma_capable(Function& out) {
  if (!out.rdma.empty()) {
    out.rdma_capable = true;
    out.rdma_capable_why = "it has the RDMA device " + out.rdma.front().name;
  } else if (!out.verbs_nodes.empty()) {
    out.rdma_capable = true;
    out.rdma_capable_why =
        "it has " + out.verbs_nodes.front() + ", whose RDMA device is in another network namespace";
  } else if (devlink_ && !out.driver.empty() && devlink_->enable_rdma(out.address).value_or(false)) {
    out.rdma_capable = true;
    out.rdma_capable_why = "devlink says enable_rdma";
  } else {
    out.rdma_capable_why =
        "it has neither an RDMA device nor a verbs node, and devlink does not say enable_rdma";
  }
}

// DDP packages exist on Intel's cards; the question costs others a firmware query.
std::string Scanner::ddp_profile(const Function& function) {
  if (!devlink_ || function.vendor != kIntel) return {};
  auto name = devlink_->version(function.address, kDdpVersion);
  if (!name && function.pf) name = devlink_->version(*function.pf, kDdpVersion);
  return name.value_or("");
}

Result<std::optional<Function>> Scanner::read(const PciAddress& address) {
  const std::string base = pci_folder(address) + "/";
  const auto class_code = TRY(sys_.text(base + "class"), "");
  if (!class_code || !class_code->starts_with(kNetworkClass)) return std::optional<Function>();
  Function out;
  out.address = address;
  out.class_code = *class_code;
  out.vendor = pci_id(sys_, base + "vendor");
  read_bus_facts(base, out);
  out.netdevs = read_netdevs(sys_, address);
  out.rdma = read_rdma(sys_, address);
  out.verbs_nodes = read_verbs_nodes(sys_, address);
  read_sriov_facts(base, out);
  read_userspace_facts(base, out);
  decide_rdma_capable(out);
  out.ddp_profile = ddp_profile(out);
  if (out.link_type == "infiniband" && !out.rdma.empty()) {
    out.pkey =
        sys_.text_or_none(base + "infiniband/" + out.rdma.front().name + "/ports/1/pkeys/0").value_or("");
  }
  // Files are read one after another; a function that went away meanwhile has left half of them empty.
  if (!sys_.exists(base + "vendor")) return std::optional<Function>();
  return std::optional<Function>(std::move(out));
}

std::optional<RdmaNetnsMode> read_rdma_netns_mode(const SysRoot& sys, Kernel* host) {
  if (host != nullptr) {
    const auto asked = host->rdma_netns_mode();
    if (asked && *asked) return **asked;
  }
  // The parameter follows `rdma system set netns` (rdma_compatdev_set() sets the same variable).
  const auto shared = sys.text_or_none("sys/module/ib_core/parameters/netns_mode");
  if (!shared) return std::nullopt;
  return *shared == "Y" || *shared == "1" ? RdmaNetnsMode::shared : RdmaNetnsMode::exclusive;
}

}  // namespace

DeviceId Function::id() const {
  if (aux_name.empty()) return DeviceId(address);
  return DeviceId::parse(aux_name).value_or(DeviceId(address));
}

bool Function::away() const {
  // With these drivers there is nothing to see in any namespace.
  const bool for_userspace = driver.find("vfio") != std::string::npos ||
                             driver.find("uio") != std::string::npos || driver == "pci-stub" ||
                             vdpa.has_value();
  return !driver.empty() && !for_userspace && netdevs.empty() && rdma.empty();
}

Result<Inventory> scan(const SysRoot& sys, Kernel* host) {
  if (!sys.exists(kPciDevices)) {
    return Error{Errc::not_found, 0,
                 sys.path(kPciDevices) + " is not there: is sysfs mounted below this root?"};
  }
  Inventory out;
  HostNetwork network = read_host_network(sys, host);
  out.warnings = std::move(network.warnings);
  Scanner scanner(sys);
  // The folder is sorted by name; addresses with a domain of more than four digits are not in their order
  // then.
  std::map<PciAddress, Function> found;
  for (const std::string& name : sys.list(kPciDevices)) {
    const auto address = PciAddress::parse(name);
    if (!address) continue;
    auto function = scanner.read(*address);
    if (!function) {
      out.warnings.push_back(name + " is left out, it cannot be read: " + function.error().text);
      continue;
    }
    if (!*function) continue;
    (*function)->host_use = find_host_use(sys, (*function)->netdevs, network);
    found.emplace(*address, **std::move(function));
  }
  for (auto& [address, function] : found) out.functions.push_back(std::move(function));
  out.gpus = read_gpus(sys, out.functions);
  out.rdma_netns_mode = read_rdma_netns_mode(sys, host);
  out.rdma_cm = sys.exists("dev/infiniband/rdma_cm");
  out.vhost_net = sys.exists("dev/vhost-net") && sys.exists("dev/net/tun");
  return out;
}

Result<std::optional<Function>> read_function(const SysRoot& sys, const PciAddress& address) {
  return Scanner(sys).read(address);
}

}  // namespace vfrail
