#include "plugin/device/inventory/function_reader.h"

#include "common/node/device_folder.h"
#include "plugin/device/inventory/host_kernel.h"
#include "plugin/device/inventory/passed_through.h"
#include "plugin/device/inventory/vdpa_facts.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace vfrail::plugin {

namespace {

// Base classes of the PCI Code and ID Assignment Specification.
constexpr std::string_view kNetworkClass = "0x02";
constexpr std::string_view kBridgeClass = "0x06";  // nearly every other function of a server
constexpr std::string_view kAcceleratorClass = "0x12";
constexpr std::string_view kInfinibandClass = "0x0207";
constexpr std::string_view kIntel = "8086";
constexpr std::string_view kMellanox = "15b3";
constexpr const char* kDdpVersion = "fw.app.name";  // devlink-info.rst, set by ice

constexpr Facts kPortFacts = Facts::netdevs | Facts::netdev_settings | Facts::rdma_ports;
constexpr Facts kFunctionFacts =
    Facts::place | Facts::pf | Facts::vf_counts | Facts::driver | Facts::user_nodes;

DevlinkHandle devlink_handle(const DeviceFacts& function) {
  if (function.kind == FunctionKind::sub_function) return {"auxiliary", function.id.text()};
  return {"pci", function.address.text()};
}

// devlink is about this machine and our own network namespace, not about a captured tree, nor, in a pod,
// about the host.
Result<std::optional<Devlink>> open_devlink(const SysRoot& sys) {
  const bool is_root = sys.path("") == "/";
  return is_root || TRY(is_host_netns(sys)) ? Devlink::open() : std::optional<Devlink>();
}

}  // namespace

// While its RDMA device is in a pod only the folder of verbs nodes shows it.
Result<bool> is_network_function(const SysRoot& sys, const Device& device) {
  if (device.class_code.starts_with(kNetworkClass) || is_rdma_adapter(device)) return true;
  if (device.class_code.starts_with(kBridgeClass) || device.class_code.starts_with(kAcceleratorClass))
    return false;
  const std::string folder = device_folder(device.id) + "/";
  return TRY(sys.exists(folder + kVerbsNodes)) || TRY(sys.exists(folder + kRdmaDevices));
}

Result<std::optional<FailedReporters>> read_failed_reporters(const SysRoot& sys) {
  auto devlink = TRY(open_devlink(sys));
  if (!devlink) return std::optional<FailedReporters>();
  return std::optional(TRY(devlink->failed_reporters()));
}

Result<FunctionReader> FunctionReader::open(const SysRoot& sys, const FailedReporters& failed) {
  auto vdpa = TRY(read_vdpa_devices(sys), "find the vDPA devices");
  auto devlink = TRY(open_devlink(sys));
  return FunctionReader(sys, failed, std::move(vdpa), std::move(devlink));
}

FunctionReader::FunctionReader(const SysRoot& sys, const FailedReporters& failed,
                               std::map<PciAddress, Vdpa> vdpa, std::optional<Devlink> devlink)
    : sys_(sys), vdpa_(std::move(vdpa)), devlink_(std::move(devlink)), failed_reporters_(failed) {}

Result<const FunctionReader::PfFacts*> FunctionReader::pf_facts(const PciAddress& pf) {
  const auto known = pfs_.find(pf);
  if (known != pfs_.end()) return &std::as_const(known->second);
  const Device device = TRY(read_device(sys_, DeviceId(pf), kPortFacts)).value_or(Device());
  return &std::as_const(pfs_.emplace(pf, TRY(facts_of_port(pf, device))).first->second);
}

Result<FunctionReader::PfFacts> FunctionReader::facts_of_port(const PciAddress& address,
                                                              const Device& device) const {
  PfFacts out;
  out.name = TRY(choose_uplink(sys_, device.netdev_names()));
  for (const Netdev& netdev : device.netdevs) {
    if (netdev.name != out.name) continue;
    out.link_type = link_type_name(netdev.type);
    out.port.up = netdev.up;
    out.port.carrier = netdev.carrier;
  }
  for (const RdmaFacts& one : device.rdma)
    out.port.rdma.insert(out.port.rdma.end(), one.ports.begin(), one.ports.end());
  const auto failed = failed_reporters_.find(address.text());
  if (failed != failed_reporters_.end()) out.port.failed_reporters = failed->second;
  return out;
}

Result<int> FunctionReader::index_of_vf(const PciAddress& pf, const DeviceId& vf) {
  const auto expected = expected_.find(vf);
  if (expected != expected_.end() && !vfs_.contains(pf)) {
    const std::string link = "virtfn" + std::to_string(expected->second);
    if (TRY(DeviceFolder(sys_, DeviceId(pf)).link_name(link)) == vf.text()) return expected->second;
  }
  if (!vfs_.contains(pf)) {
    const DeviceFolder folder(sys_, DeviceId(pf), DeviceFolder::Use::many_files);
    vfs_.emplace(pf, TRY(list_vfs(folder)));
  }
  const auto& all = vfs_.at(pf);
  const auto at = std::find(all.begin(), all.end(), vf.text());
  return at == all.end() ? -1 : static_cast<int>(at - all.begin());
}

Result<> FunctionReader::add_pf_facts(DeviceFacts& out) {
  if (!out.pf) return {};
  const PfFacts& pf = *TRY(pf_facts(*out.pf), "read its PF " + out.pf->text());
  out.pf_name = pf.name;
  out.port = pf.port;
  if (out.netdevs.empty()) out.link_type = pf.link_type;
  if (out.is_vf()) out.vf_index = TRY(index_of_vf(*out.pf, out.id), "read its PF " + out.pf->text());
  return {};
}

Result<> FunctionReader::add_network_facts(DeviceFacts& out) {
  const PfFacts own = TRY(facts_of_port(out.address, out));
  const auto uplink = std::find_if(out.netdevs.begin(), out.netdevs.end(),
                                   [&](const Netdev& netdev) { return netdev.name == own.name; });
  if (uplink != out.netdevs.end()) std::rotate(out.netdevs.begin(), uplink, uplink + 1);
  out.link_type = own.link_type;
  if (!out.pf) out.port = own.port;
  // Its VFs, which come next, need not read it again.
  if (out.num_vfs > 0) pfs_.emplace(out.address, own);
  TRY(add_pf_facts(out));
  return decide_rdma_capable(out);
}

// The mark of NVLink switches is slow to read, so only candidates are asked for it: an InfiniBand function of
// that vendor, with an RDMA device and without VFs.
//
// Who may have a device depends on both facts: without one of them it is unread, whatever the firmware
// answers.
Result<> FunctionReader::add_firmware_facts(DeviceFacts& out) const {
  if (out.rdma.empty()) return {};
  const DeviceFolder folder(sys_, out.id);
  if (out.link_type == "infiniband")
    out.pkey = TRY(folder.text(rdma_port_folder(out.rdma.front().name, 1) + "pkeys/0"));
  if (!out.class_code.starts_with(kInfinibandClass) || out.vendor != kMellanox || out.pf || out.num_vfs > 0)
    return {};
  const auto mark = read_nvlink_mark(folder);
  // Readable for root alone: another user's `inspect` goes on without it.
  if (!mark.ok() && mark.error().code == Errc::denied) {
    out.nvlink_unknown = mark.error().text;
    return {};
  }
  out.manages_nvlink = TRY(mark);
  return {};
}

Result<> FunctionReader::decide_rdma_capable(DeviceFacts& out) {
  const bool visible = !out.rdma.empty() || !out.verbs_nodes.empty();
  const bool enabled = !visible && devlink_ && out.driver.is_bound() &&
                       TRY(devlink_->enable_rdma(devlink_handle(out))).value_or(false);
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

// DDP packages exist on Intel's cards; the query costs others a firmware query.
Result<std::string> FunctionReader::ddp_profile(const DeviceFacts& function) {
  if (!devlink_ || function.vendor != kIntel) return std::string();
  auto name = TRY(devlink_->version(devlink_handle(function), kDdpVersion));
  if (!name && function.pf) name = TRY(devlink_->version({"pci", function.pf->text()}, kDdpVersion));
  return name.value_or("");
}

Result<std::optional<DeviceFacts>> FunctionReader::read(Device device) {
  const auto address = device.id.pci();
  const bool network = address && TRY(is_network_function(sys_, device));
  const bool accelerator = device.class_code.starts_with(kAcceleratorClass);
  if (!address || (!network && !accelerator)) return std::optional<DeviceFacts>();
  DeviceFacts out;
  static_cast<Device&>(out) = std::move(device);
  out.kind = network ? FunctionKind::network : FunctionKind::accelerator;
  out.address = *address;
  if (!TRY(read_facts(sys_, network ? kFunctionFacts | kPortFacts : kFunctionFacts, out)))
    return std::optional<DeviceFacts>();
  out.passed_through = network && is_passed_through(out);
  if (const auto vdpa = vdpa_.find(out.address); vdpa != vdpa_.end()) out.vdpa = vdpa->second;
  if (network) TRY(add_network_facts(out));
  if (network) TRY(add_firmware_facts(out));
  if (accelerator) TRY(add_pf_facts(out));
  out.ddp_profile = TRY(ddp_profile(out));
  return std::optional<DeviceFacts>(std::move(out));
}

Result<std::optional<DeviceFacts>> FunctionReader::read_sub_function(const DeviceId& id) {
  // Most auxiliary devices are something else.
  const auto number = TRY(DeviceFolder(sys_, id).number("sfnum"));
  if (!number || *number < 0 || *number > UINT32_MAX) return std::optional<DeviceFacts>();
  auto own = TRY(read_device(sys_, id, Facts::pf | kPortFacts));
  if (!own || !own->pf) return std::optional<DeviceFacts>();
  auto parent = TRY(read_device(sys_, DeviceId(*own->pf), Facts::ids | Facts::place | Facts::driver));
  if (!parent) return std::optional<DeviceFacts>();
  DeviceFacts out;
  static_cast<Device&>(out) = *std::move(parent);
  out.kind = FunctionKind::sub_function;
  out.address = *own->pf;
  out.id = id;
  out.sf_number = static_cast<uint32_t>(*number);
  out.pf = own->pf;
  out.netdevs = std::move(own->netdevs);
  out.rdma = std::move(own->rdma);
  out.verbs_nodes = std::move(own->verbs_nodes);
  TRY(add_network_facts(out));
  TRY(add_firmware_facts(out));
  return std::optional<DeviceFacts>(std::move(out));
}

}  // namespace vfrail::plugin
