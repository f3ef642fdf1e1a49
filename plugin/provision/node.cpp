#include "plugin/provision/node.h"

#include "common/node/device_folder.h"
#include "common/node/netdevs.h"
#include "common/text.h"
#include "plugin/device/inventory/devlink.h"
#include "plugin/device/provisioning/withheld.h"
#include "plugin/provision/vfio.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

constexpr const char* kOperatorPfs = "etc/sriov-operator/pci/";
constexpr const char* kOperatorGuids = "etc/sriov-operator/infiniband/guids";

const DeviceFacts* find_function(const Inventory& inventory, const PciAddress& address) {
  const auto& all = inventory.functions;
  const auto at = std::find_if(all.begin(), all.end(), [&](const DeviceFacts& one) {
    return one.address == address && one.kind != FunctionKind::sub_function;
  });
  return at == all.end() ? nullptr : &*at;
}

// That a VM or another process uses it, or may do so; empty: not.
Result<std::string> user_space_use(const SysRoot& sys, const DeviceFacts& vf) {
  if (!vf.driver.is_user_space()) return std::string();
  const std::string bound = "is bound to " + vf.driver.name();
  if (vf.driver.kind() != DriverKind::vfio) return bound + ", so that a process may use it";
  const auto open = TRY(open_by_vfio(DeviceFolder(sys, vf.id)));
  if (!open) return bound + ", so that a VM or another process may use it";
  return *open ? bound + " and in use by a VM or another process" : std::string();
}

std::string pods_of(const DeviceFacts& vf, const UsersById& users) {
  if (const auto at = users.find(vf.id.text()); at != users.end() && !at->second.empty())
    return "is in " + first_few(at->second);
  return vf.attached ? "is attached to a pod (vfrail-cni has a record of it)" : "";
}

// A reason not to touch a VF that no pod has, of those that can be seen; empty: none.
Result<std::string> other_use(const SysRoot& sys, const DeviceFacts& vf) {
  if (std::string open = TRY(user_space_use(sys, vf)); !open.empty()) return open;
  if (vf.vdpa) return std::string("is a vDPA device");
  if (!vf.host_use.empty()) return "is used by the host: " + vf.host_use.front().what;
  if (vf.driver.is_bound() && vf.partly_away())
    return std::string("is in another network namespace, with its interface or its RDMA device");
  return std::string();
}

Result<std::vector<VfFacts>> read_vfs(const ProvisionSources& sources, const PfFacts& pf) {
  std::vector<VfFacts> out;
  const DeviceFolder folder(sources.sys, DeviceId(pf.address));
  for (const std::string& name : TRY(list_vfs(folder))) {
    const auto address = PciAddress::parse(name);
    if (!address) continue;  // there is none of that index: the PF counts as partly unknown
    VfFacts vf{.address = *address, .driver = {}, .in_use = {}, .settings = {}};
    if (const DeviceFacts* facts = find_function(sources.inventory, *address)) {
      vf.driver = facts->driver;
      vf.in_use = pods_of(*facts, sources.users);
      vf.in_pod = !vf.in_use.empty();
      if (!vf.in_pod) vf.in_use = TRY(other_use(sources.sys, *facts));
    } else {
      vf.in_use = "cannot be read";
    }
    out.push_back(std::move(vf));
  }
  return out;
}

// By netlink; a tree that was captured has none.
Result<> add_settings(Kernel& host, PfFacts& pf) {
  if (pf.name.empty()) return {};
  const auto link = TRY(host.find_link(pf.name));
  if (!link) return {};
  pf.up = link->up();
  pf.mtu = link->mtu;
  if (link->permanent_mac.bytes.size() == 6) pf.identity.mac = link->permanent_mac;
  if (pf.vfs.empty()) return {};
  for (const VfReport& report : TRY(host.vfs(link->index), "read the VFs of " + pf.name)) {
    if (report.vf < pf.vfs.size()) pf.vfs[report.vf].settings = report.settings;
  }
  return {};
}

uint64_t port_guid_of(const MacAddress& mac) {
  uint64_t out = 0;
  for (size_t i = 12; mac.ipoib() && i < 20; ++i) out = (out << 8U) | mac.bytes[i];
  return out;
}

// "b859:9f03:00a8:1c2e".
uint64_t guid_of(const std::string& text) {
  const auto guid = parse_guid(joined(split(text, ":"), ""));
  return guid.value_or(0);
}

// The address of the interface can be that of a bond; Kernel knows the hardware's.
Result<> add_interface(const ProvisionSources& sources, const DeviceFacts& function, PfFacts& pf) {
  const std::vector<std::string> names = function.netdev_names();
  pf.name = TRY(choose_uplink(sources.sys, names));
  pf.link_type = function.link_type;
  for (const Netdev& netdev : function.netdevs) {
    if (netdev.name != pf.name) continue;
    pf.mtu = netdev.mtu;
    pf.up = netdev.up;
    if (netdev.mac.bytes.size() == 6) pf.identity.mac = netdev.mac;
    pf.identity.guid = port_guid_of(netdev.mac);
  }
  for (const RdmaFacts& rdma : function.rdma) {
    if (pf.link_type.empty() && !rdma.ports.empty())
      pf.link_type = rdma.ports.front().link_layer == "InfiniBand" ? "infiniband" : "ether";
    if (pf.identity.guid == 0) pf.identity.guid = guid_of(rdma.guid);
  }
  return {};
}

Result<> add_operator(const ProvisionSources& sources, const DeviceFacts& function, PfFacts& pf) {
  if (TRY(sources.sys.exists(kOperatorPfs + pf.address.text()))) pf.manager = "sriov-network-operator";
  const auto text = TRY(sources.sys.text(kOperatorGuids));
  if (!text) return {};
  std::string mac;
  for (const Netdev& netdev : function.netdevs) mac = netdev.name == pf.name ? netdev.mac.text() : mac;
  pf.file_guids = TRY(parse_guid_file(*text, pf.address, mac), std::string("/") + kOperatorGuids);
  return {};
}

Result<PfFacts> read_pf(const ProvisionSources& sources, const DeviceFacts& function, Devlink* devlink) {
  PfFacts out;
  out.address = function.address;
  out.vendor = function.vendor;
  out.driver = function.driver.name();
  out.host_use = function.host_use;
  out.failed_reporters = function.port.failed_reporters;
  const DeviceFolder folder(sources.sys, DeviceId(out.address));
  if (const auto total = TRY(folder.number("sriov_totalvfs"))) out.total_vfs = static_cast<uint32_t>(*total);
  out.num_vfs = TRY(read_num_vfs(folder));
  out.autoprobe = TRY(folder.number("sriov_drivers_autoprobe")).value_or(1) != 0;
  out.autoprobe_before = TRY(sources.records.load(out.address));
  if (sources.serials) out.serial = parse_vpd_serial(TRY(folder.text_of_firmware("vpd")));
  TRY(add_interface(sources, function, out));
  TRY(add_operator(sources, function, out));
  out.vfs = TRY(read_vfs(sources, out));
  if (devlink != nullptr) out.eswitch = TRY(devlink->eswitch_mode({"pci", out.address.text()}));
  if (sources.host != nullptr) TRY(add_settings(*sources.host, out));
  return out;
}

}  // namespace

Result<ProvisionFacts> read_provision_facts(const ProvisionSources& sources) {
  ProvisionFacts out;
  out.rdma_netns = sources.inventory.rdma_netns_mode;
  out.pods_unknown = sources.pods_unknown;
  for (const UnreadDevice& device : sources.inventory.unread) {
    if (const auto address = PciAddress::parse(device.id))
      out.unread.emplace_back(*address, device.id + " cannot be read: " + device.reason);
  }
  auto devlink = sources.host != nullptr ? TRY(Devlink::open()) : std::optional<Devlink>();
  for (const DeviceFacts& function : sources.inventory.functions) {
    if (function.kind != FunctionKind::network || function.is_vf()) continue;
    out.pfs.push_back(
        TRY(read_pf(sources, function, devlink ? &*devlink : nullptr), "read " + function.address.text()));
  }
  return out;
}

}  // namespace vfrail::plugin
