#include "cni/node/device.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/node/device_folder.h"
#include "common/text.h"

#include <algorithm>
#include <map>

#include <linux/if_arp.h>

namespace vfrail::cni {

namespace {

// The device below a netdev: the PCI function or auxiliary device that its `device` link leads to. virtio has
// a bus of its own between the two, so the PCI function is one up.
Result<std::optional<DeviceId>> device_of_netdev(const SysRoot& sys, const std::string& name) {
  const auto real = TRY(sys.resolve("sys/class/net/" + name + "/device"));
  if (!real) return std::optional<DeviceId>();
  std::string path = *real;
  for (int up = 0; up < 2; ++up) {
    const std::string last = path.substr(path.rfind('/') + 1);
    if (PciAddress::parse(last) || TRY(sys.exists(std::string(kAuxiliaryDevices) + "/" + last))) {
      auto id = DeviceId::parse(last);
      if (id) return std::optional(*id);
    }
    path.resize(std::min(path.rfind('/'), path.size()));
  }
  return std::optional<DeviceId>();
}

void keep_netdev(Device& device, const std::string& name) {
  std::erase_if(device.netdevs, [&](const Netdev& netdev) { return netdev.name != name; });
}

// The netdevs of the requested port, or of the lowest: what host-device chooses.
Result<> keep_port(std::vector<Netdev>& netdevs, const std::optional<uint32_t>& wanted,
                   const std::string& whose) {
  if (netdevs.empty()) return {};
  const auto port = wanted ? wanted : netdevs.front().dev_port;
  std::vector<std::string> all;
  for (const Netdev& netdev : netdevs) all.push_back(netdev.name);
  std::erase_if(netdevs, [&](const Netdev& netdev) { return netdev.dev_port != port; });
  if (!netdevs.empty()) return {};
  return Error{Errc::not_found, 0,
               "port: no interface of " + whose + " in the host (" + joined(all) + ") has the dev_port " +
                   std::to_string(port.value_or(0)),
               ErrorId::device_not_on_node};
}

Result<Device> device_with_netdev(const SysRoot& sys, const IfName& name) {
  Device out;
  if (const auto id = TRY(device_of_netdev(sys, name))) {
    out.id = *id;
    TRY(read_facts(sys, kAttachFacts, out));
    keep_netdev(out, name);
  }
  // Without a device below it, or on a bus that is unknown here.
  if (out.netdevs.empty()) out.netdevs = {{.name = name}};
  return out;
}

// By the folder of its device in sysfs.
Result<IfName> find_netdev_below(const SysRoot& sys, const DeviceSelector& selector) {
  const DeviceFolder folder(SysRoot(sys.path(selector.kernel_path.substr(1))));
  auto found = TRY(read_netdevs(folder, Driver(), {.dev_port = true}));
  TRY(keep_port(found, selector.port, selector.kernel_path));
  if (!found.empty()) return found.front().name;
  return Error{Errc::not_found, 0,
               "kernelpath: " + selector.kernel_path +
                   " has no interface in the host; compare it with readlink -f /sys/class/net/*/device",
               ErrorId::device_not_on_node};
}

// The netdev that one of the static selectors names; empty if none of them is set.
Result<IfName> find_netdev(const SysRoot& sys, Kernel& host, const DeviceSelector& selector) {
  if (!selector.name.empty()) {
    // By an alternative name as well, which sysfs does not have.
    if (auto link = TRY(host.find_link(selector.name), "device")) return link->name;
    return Error{Errc::not_found, 0,
                 "device: the host has no interface " + selector.name + "; compare it with ip link",
                 ErrorId::device_not_on_node};
  }
  if (selector.mac) {
    IfName stacked;
    for (const Link& link : TRY(host.links(), "find hwaddr " + selector.mac->text())) {
      if (link.mac != *selector.mac) continue;
      // A VLAN or bond inherits the address of its lower interface; hardware is meant, if it is there.
      const bool stands_on_another = link.lower != 0 && link.kind != "veth";
      if (!stands_on_another && link.kind != "bond" && link.kind != "bridge") return link.name;
      if (stacked.empty()) stacked = link.name;
    }
    if (!stacked.empty()) return stacked;
    return Error{Errc::not_found, 0,
                 "hwaddr: the host has no interface with the address " + selector.mac->text() +
                     "; compare it with ip link",
                 ErrorId::device_not_on_node};
  }
  return selector.kernel_path.empty() ? IfName() : find_netdev_below(sys, selector);
}

// Returns which it was; empty: none, as an earlier attempt leaves it that was killed before it bound one.
Result<std::string> unbind_driver(const SysRoot& sys, const DeviceId& id) {
  std::string driver = TRY(DeviceFolder(sys, id).link_name("driver"));
  if (!driver.empty())
    TRY(write_attribute(sys.path("sys/bus/pci/drivers/" + driver + "/unbind"), id.text()), id.text());
  return driver;
}

// `before`: the driver that it had; empty: none.
Result<> bind_driver(const SysRoot& sys, const DeviceId& id, const std::string& before) {
  TRY(write_attribute(sys.path("sys/bus/pci/drivers_probe"), id.text()), id.text());
  // The kernel answers alike when no driver wants the device, or when its probe() fails
  // (bus_rescan_devices_helper()).
  if (!TRY(DeviceFolder(sys, id).link_name("driver")).empty()) return {};
  return Error{Errc::not_found, 0,
               id.text() + " has no driver although it was to be bound" +
                   (before.empty() ? "" : " to " + before + " again") + "; look for the reason in dmesg",
               ErrorId::no_driver};
}

}  // namespace

Result<std::vector<std::string>> read_rdma_nodes(const SysRoot& sys, const DeviceId& id) {
  const DeviceFolder folder(sys, id);
  Device nodes;
  nodes.verbs_nodes = TRY(folder.list(kVerbsNodes));
  nodes.mad_nodes = TRY(folder.list(kMadNodes));
  return nodes.rdma_nodes();
}

Result<std::vector<std::string>> read_rdma_names(const SysRoot& sys, const DeviceId& id) {
  const DeviceFolder folder(sys, id);
  return read_rdma_names_anywhere(folder, TRY(folder.list(kVerbsNodes)));
}

namespace {

// IPoIB's of that port; all of them if there are none. Of Ethernet's, which have representors among them, the
// number does not say it.
Result<std::vector<std::string>> names_of_port(const DeviceFolder& folder,
                                               const std::map<std::string, std::string>& entries,
                                               std::optional<uint32_t> port) {
  std::vector<std::string> all;
  std::vector<std::string> of_port;
  for (const auto& [name, entry] : entries) {
    all.push_back(name);
    if (!port || entries.size() < 2 || TRY(folder.number(entry + "/type")) != ARPHRD_INFINIBAND) continue;
    if (TRY(folder.number(entry + "/dev_port")) == *port) of_port.push_back(name);
  }
  return of_port.empty() ? all : of_port;
}

}  // namespace

Result<PfSearch> find_pf(const SysRoot& sys, const DeviceId& vf, std::optional<uint32_t> port) {
  const auto none = [&](const std::string& why) {
    return PfSearch{std::nullopt, "", vf.text() + " " + why, false};
  };
  if (!vf.pci()) return none("is not a PCI function, so it is not a VF");
  const auto pf = PciAddress::parse(TRY(DeviceFolder(sys, vf).link_name("physfn")));
  if (!pf) {
    return none("has no PF on this machine: it is not a VF, or this is a VM and the PF is the hypervisor's");
  }
  PfSearch out{DeviceId(*pf), "", "", false};
  const DeviceFolder folder(sys, *out.pf);
  const Driver driver(TRY(folder.link_name("driver")));
  std::map<std::string, std::string> entries;  // by the interface's name
  for (std::string& entry : TRY(list_netdevs(folder, driver)))
    entries[entry.substr(entry.rfind('/') + 1)] = std::move(entry);
  out.netdev = TRY(choose_uplink(sys, TRY(names_of_port(folder, entries, port))));
  if (!out.netdev.empty()) {
    out.entry = entries[out.netdev];
    return out;
  }
  PfSearch without = none("has a PF, " + pf->text() + ", without an interface in the host");
  without.later = !driver.is_user_space();
  return without;
}

Result<VfSearch> find_vf_place(const SysRoot& sys, const DeviceId& vf, std::optional<uint32_t> port) {
  PfSearch found = TRY(find_pf(sys, vf, port));
  if (!found.pf) return VfSearch{std::nullopt, std::move(found.why_not), found.later};
  const DeviceFolder folder(sys, *found.pf);
  const auto link = TRY(folder.number(found.entry + "/ifindex"));
  if (!link) {
    return Error{Errc::busy, 0,
                 "the index of " + found.netdev + ", the PF of " + vf.text() +
                     ", cannot be read: its driver is just starting, or has been unbound"};
  }
  const auto vfs = TRY(list_vfs(folder, vf.text()));
  if (vfs.empty() || vfs.back() != vf.text())
    return VfSearch{std::nullopt, vf.text() + " is not one of the VFs of " + found.pf->text(), false};
  return VfSearch{
      VfPlace{std::move(found.netdev), static_cast<int>(*link), static_cast<uint32_t>(vfs.size() - 1)}, "",
      false};
}

Result<> rebind_driver(const SysRoot& sys, const DeviceId& id) {
  const std::string driver = TRY(unbind_driver(sys, id));
  return bind_driver(sys, id, driver);
}

Result<std::string> reset_function(const SysRoot& sys, const DeviceId& id) {
  const std::string driver = TRY(unbind_driver(sys, id));
  const auto reset = write_attribute(sys.path(device_folder(id) + "/reset"), "1");
  TRY(bind_driver(sys, id, driver));
  return reset ? std::string() : reset.error().text;
}

Result<Device> find_device(const SysRoot& sys, Kernel& host, const DeviceSelector& selector) {
  if (!selector.id) {
    const IfName name = TRY(find_netdev(sys, host, selector));
    if (!name.empty()) return device_with_netdev(sys, name);
    return Error{
        Errc::invalid, 0,
        "the configuration names no device: Multus adds deviceID when the NetworkAttachmentDefinition has "
        "the annotation k8s.v1.cni.cncf.io/resourceName and the pod requests that resource (once for each "
        "attachment); of devices that come by ResourceClaims only a Multus newer than v4.3.0 knows; without "
        "a device plugin set device, hwaddr, kernelpath or pciBusID",
        ErrorId::no_device_named};
  }
  auto found = TRY(read_device(sys, *selector.id, kAttachFacts));
  if (!found) {
    return Error{Errc::not_found, 0,
                 "device " + selector.id->text() +
                     " is not on this node: neither a PCI function nor an auxiliary device has that name; "
                     "compare it with lspci -D and /sys/bus/auxiliary/devices, and leave it out of networks "
                     "that have a device plugin, which names the device",
                 ErrorId::device_not_on_node};
  }
  Device out = *std::move(found);
  DeviceSelector others = selector;
  others.id.reset();
  if (others.empty()) {
    TRY(keep_port(out.netdevs, selector.port, out.key()));
    return out;
  }
  // Static selectors beside an id may choose one of several netdevs, but must not name another device.
  const std::string name = TRY(find_netdev(sys, host, others));
  keep_netdev(out, name);
  if (!out.netdevs.empty()) return out;
  return Error{Errc::invalid, 0,
               "the scheduler gave the device " + selector.id->text() +
                   ", but the configuration's device, hwaddr or kernelpath names " + name +
                   ", which is not part of it; take the static one out of the configuration",
               ErrorId::device_conflict};
}

}  // namespace vfrail::cni
