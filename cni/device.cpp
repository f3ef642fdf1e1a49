#include "cni/device.h"

#include <algorithm>
#include <array>

namespace vfrail {

namespace {

constexpr std::array kUserSpaceDrivers = {"vfio-pci", "uio_pci_generic", "igb_uio"};

std::string folder_of(const SysRoot& sys, const DeviceId& id) {
  std::string pci = "sys/bus/pci/devices/" + id.text();
  if (id.pci() || sys.exists(pci)) return pci;
  return "sys/bus/auxiliary/devices/" + id.text();
}

// The device below a netdev: the PCI function or auxiliary device that its `device` link leads to. virtio has
// a bus of its own between the two, so the PCI function is one up.
std::optional<DeviceId> device_of_netdev(const SysRoot& sys, const std::string& name) {
  const auto real = sys.resolve("sys/class/net/" + name + "/device");
  if (!real) return std::nullopt;
  std::string path = *real;
  for (int up = 0; up < 2; ++up) {
    const std::string last = path.substr(path.rfind('/') + 1);
    if (PciAddress::parse(last) || sys.exists("sys/bus/auxiliary/devices/" + last)) {
      auto id = DeviceId::parse(last);
      if (id) return *id;
    }
    path.resize(path.rfind('/'));
  }
  return std::nullopt;
}

Device device_with_netdev(const SysRoot& sys, const std::string& name) {
  if (const auto id = device_of_netdev(sys, name)) {
    Device out = read_device(sys, *id);
    out.netdevs = {name};  // the one that was asked for, if the function has several
    return out;
  }
  Device out;
  out.key = "netdev." + name;
  out.present = true;
  out.netdevs = {name};
  return out;
}

// The netdev that one of the static selectors means; empty if none of them is set.
Result<std::string> find_netdev(const SysRoot& sys, Kernel& host, const DeviceSelector& selector) {
  if (!selector.name.empty()) {
    if (TRY(host.find_link(selector.name), "find device " + selector.name)) return selector.name;
    return Error{Errc::not_found, 0, "device: the host has no interface " + selector.name};
  }
  if (selector.mac) {
    for (const Link& link : TRY(host.links(), "find hwaddr " + selector.mac->text())) {
      // A VLAN or bond inherits the address of what it stands on; hardware is meant.
      const bool stands_on_another = link.lower != 0 && link.kind != "veth";
      if (link.mac == *selector.mac && !stands_on_another && link.kind != "bond" && link.kind != "bridge")
        return link.name;
    }
    return Error{Errc::not_found, 0,
                 "hwaddr: the host has no interface with the address " + selector.mac->text()};
  }
  if (!selector.kernel_path.empty()) {
    const auto names = sys.list(selector.kernel_path.substr(1) + "/net");
    if (!names.empty()) return names.front();
    return Error{Errc::not_found, 0, "kernelpath: " + selector.kernel_path + " has no interface in the host"};
  }
  return std::string();
}

}  // namespace

bool Device::user_space() const {
  return std::find(kUserSpaceDrivers.begin(), kUserSpaceDrivers.end(), driver) != kUserSpaceDrivers.end();
}

std::string Device::missing_part() const {
  if (user_space() || driver.empty()) return "";
  if (netdevs.empty() && (rdma.empty() || roce)) return "interface";
  if (misses_rdma()) return "RDMA device";
  return "";
}

std::vector<std::string> read_rdma_nodes(const SysRoot& sys, const DeviceId& id) {
  const std::string folder = folder_of(sys, id);
  std::vector<std::string> out;
  for (const char* kind : {"infiniband_verbs", "infiniband_mad"}) {
    for (std::string& name : sys.list(folder + "/" + kind)) out.push_back(std::move(name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

// infiniband shows the devices of one namespace, infiniband_verbs is not tagged with any.
std::vector<std::string> names_below(const SysRoot& sys, const std::string& verbs) {
  std::vector<std::string> out;
  for (const std::string& node : sys.list(verbs)) {
    if (auto name = sys.text_or_none(verbs + "/" + node + "/ibdev")) out.push_back(std::move(*name));
  }
  return out;
}

}  // namespace

std::vector<std::string> read_rdma_names(const SysRoot& sys) {
  return names_below(sys, "sys/class/infiniband_verbs");
}

std::vector<std::string> read_rdma_names(const SysRoot& sys, const DeviceId& id) {
  return names_below(sys, folder_of(sys, id) + "/infiniband_verbs");
}

Device read_device(const SysRoot& sys, const DeviceId& id) {
  const std::string folder = folder_of(sys, id);
  Device out;
  out.key = id.text();
  out.id = id;
  out.present = sys.exists(folder);
  out.driver = sys.link_name(folder + "/driver").value_or("");
  out.netdevs = sys.list(folder + "/net");
  if (out.netdevs.empty()) {
    for (const std::string& entry : sys.list(folder)) {
      if (!entry.starts_with("virtio")) continue;
      for (std::string& name : sys.list(folder + "/" + entry + "/net"))
        out.netdevs.push_back(std::move(name));
    }
  }
  out.rdma = sys.list(folder + "/infiniband");
  out.nodes = read_rdma_nodes(sys, id);
  for (const std::string& name : out.rdma) {
    const auto layer = sys.text_or_none(folder + "/infiniband/" + name + "/ports/1/link_layer");
    out.roce = out.roce || layer == "Ethernet";
  }
  return out;
}

Result<Device> find_device(const SysRoot& sys, Kernel& host, const DeviceSelector& selector) {
  if (!selector.id) {
    const std::string name = TRY(find_netdev(sys, host, selector), "");
    if (!name.empty()) return device_with_netdev(sys, name);
    return Error{
        Errc::invalid, 0,
        "the configuration names no device: Multus adds deviceID when the NetworkAttachmentDefinition has "
        "the annotation k8s.v1.cni.cncf.io/resourceName and the pod requests that resource (once for each "
        "attachment); without a device plugin set device, hwaddr, kernelpath or pciBusID"};
  }
  Device out = read_device(sys, *selector.id);
  if (!out.present) {
    return Error{Errc::not_found, 0,
                 "device " + selector.id->text() +
                     " is not on this node: neither a PCI function nor an auxiliary device has that name"};
  }
  DeviceSelector others = selector;
  others.id.reset();
  if (others.empty()) return out;
  // Static selectors beside an id: they may pick one of several netdevs, but must not mean another device.
  const std::string name = TRY(find_netdev(sys, host, others), "");
  if (std::find(out.netdevs.begin(), out.netdevs.end(), name) == out.netdevs.end()) {
    return Error{Errc::invalid, 0,
                 "the scheduler gave the device " + selector.id->text() +
                     ", but the configuration's device, hwaddr or kernelpath names " + name +
                     ", which is not part of it; take the static one out of the configuration"};
  }
  out.netdevs = {name};
  return out;
}

}  // namespace vfrail
