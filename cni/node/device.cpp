#include "cni/node/device.h"

#include "common/node/driver.h"
#include "common/node/uplink.h"
#include "common/text.h"
#include "common/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <unistd.h>

namespace vfrail {

namespace {

Result<std::string> folder_of(const SysRoot& sys, const DeviceId& id) {
  std::string pci = "sys/bus/pci/devices/" + id.text();
  if (id.pci() || TRY(sys.exists(pci), "")) return pci;
  return "sys/bus/auxiliary/devices/" + id.text();
}

// The device below a netdev: the PCI function or auxiliary device that its `device` link leads to. virtio has
// a bus of its own between the two, so the PCI function is one up.
Result<std::optional<DeviceId>> device_of_netdev(const SysRoot& sys, const std::string& name) {
  const auto real = TRY(sys.resolve("sys/class/net/" + name + "/device"), "");
  if (!real) return std::optional<DeviceId>();
  std::string path = *real;
  for (int up = 0; up < 2; ++up) {
    const std::string last = path.substr(path.rfind('/') + 1);
    if (PciAddress::parse(last) || TRY(sys.exists("sys/bus/auxiliary/devices/" + last), "")) {
      auto id = DeviceId::parse(last);
      if (id) return std::optional(*id);
    }
    path.resize(std::min(path.rfind('/'), path.size()));
  }
  return std::optional<DeviceId>();
}

// The kernel's number of the port behind a netdev, which it keeps whatever it is called and wherever it is.
Result<uint32_t> read_port(const SysRoot& sys, const std::string& folder, const std::string& name) {
  return static_cast<uint32_t>(TRY(sys.number(folder + "/net/" + name + "/dev_port"), "").value_or(0));
}

// Those in the folder's `net`, by port, then by name.
Result<> add_netdevs(const SysRoot& sys, const std::string& folder, Device& out) {
  std::vector<std::pair<uint32_t, std::string>> found;
  for (std::string& name : TRY(sys.list(folder + "/net"), "").value_or(SysRoot::Names())) {
    const uint32_t port = TRY(read_port(sys, folder, name), "");
    found.emplace_back(port, std::move(name));
  }
  std::sort(found.begin(), found.end());
  for (auto& [port, name] : found) {
    out.ports.push_back(port);
    out.netdevs.push_back(std::move(name));
  }
  return {};
}

// Keeps the netdevs for which it holds.
void keep_netdevs(Device& device, const std::function<bool(size_t)>& holds) {
  Device kept;
  for (size_t i = 0; i < device.netdevs.size(); ++i) {
    if (!holds(i)) continue;
    kept.netdevs.push_back(device.netdevs[i]);
    kept.ports.push_back(device.ports[i]);
  }
  device.netdevs = std::move(kept.netdevs);
  device.ports = std::move(kept.ports);
}

// The netdev of the wanted port, or of the lowest: what host-device's users have always got.
Result<Device> with_port(Device device, const std::optional<uint32_t>& wanted) {
  if (device.netdevs.empty()) return device;
  const uint32_t port = wanted.value_or(device.ports.front());
  const std::string all = joined(device.netdevs);
  keep_netdevs(device, [&](size_t i) { return device.ports[i] == port; });
  if (!device.netdevs.empty()) return device;
  return Error{Errc::not_found, 0,
               "port: no interface of " + device.key + " in the host (" + all + ") has the dev_port " +
                   std::to_string(port)};
}

Result<Device> device_with_netdev(const SysRoot& sys, const std::string& name) {
  if (const auto id = TRY(device_of_netdev(sys, name), "")) {
    Device out = TRY(read_device(sys, *id), "");
    keep_netdevs(out, [&](size_t i) { return out.netdevs[i] == name; });
    if (out.netdevs.empty()) out.netdevs = {name};  // on a bus between the two that is not known here
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
    return Error{Errc::not_found, 0,
                 "device: the host has no interface " + selector.name + "; compare it with ip link"};
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
    Device found;
    found.key = selector.kernel_path;
    TRY(add_netdevs(sys, selector.kernel_path.substr(1), found), "");
    found = TRY(with_port(std::move(found), selector.port), "");
    if (!found.netdevs.empty()) return found.netdevs.front();
    return Error{Errc::not_found, 0, "kernelpath: " + selector.kernel_path + " has no interface in the host"};
  }
  return std::string();
}

}  // namespace

bool Device::user_space() const { return is_user_space_driver(driver); }

std::string Device::missing_part() const {
  if (user_space() || driver.empty()) return "";
  if (netdevs.empty() && (rdma.empty() || roce)) return "interface";
  if (misses_rdma()) return "RDMA device";
  return "";
}

Result<std::vector<std::string>> read_rdma_nodes(const SysRoot& sys, const DeviceId& id) {
  const std::string folder = TRY(folder_of(sys, id), "");
  std::vector<std::string> out;
  for (const char* kind : {"infiniband_verbs", "infiniband_mad"}) {
    for (std::string& name : TRY(sys.list(folder + "/" + kind), "").value_or(SysRoot::Names()))
      out.push_back(std::move(name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<std::string>> read_rdma_names(const SysRoot& sys, const DeviceId& id) {
  // infiniband shows the devices of one namespace, infiniband_verbs is not tagged with any.
  const std::string verbs = TRY(folder_of(sys, id), "") + "/infiniband_verbs";
  std::vector<std::string> out;
  for (const std::string& node : TRY(sys.list(verbs), "").value_or(SysRoot::Names())) {
    if (auto name = TRY(sys.text(verbs + "/" + node + "/ibdev"), "")) out.push_back(std::move(*name));
  }
  return out;
}

Result<Device> read_device(const SysRoot& sys, const DeviceId& id) {
  const std::string folder = TRY(folder_of(sys, id), "");
  Device out;
  out.key = id.text();
  out.id = id;
  out.present = TRY(sys.exists(folder), "");
  out.driver = TRY(sys.link_name(folder + "/driver"), "").value_or("");
  TRY(add_netdevs(sys, folder, out), "");
  if (out.netdevs.empty()) {
    for (const std::string& entry : TRY(sys.list(folder), "").value_or(SysRoot::Names())) {
      if (entry.starts_with("virtio")) TRY(add_netdevs(sys, folder + "/" + entry, out), "");
    }
  }
  out.rdma = TRY(sys.list(folder + "/infiniband"), "").value_or(SysRoot::Names());
  out.nodes = TRY(read_rdma_nodes(sys, id), "");
  for (const std::string& name : out.rdma) {
    const auto layer = TRY(sys.text(folder + "/infiniband/" + name + "/ports/1/link_layer"), "");
    out.roce = out.roce || layer == "Ethernet";
  }
  return out;
}

Result<VfSearch> find_vf_place(const SysRoot& sys, const Device& device) {
  const auto none = [&](const std::string& why) { return VfSearch{std::nullopt, device.key + " " + why}; };
  if (!device.id || !device.id->pci()) return none("is not a PCI function, so no VF");
  const auto physfn = TRY(sys.link_name(TRY(folder_of(sys, *device.id), "") + "/physfn"), "");
  if (!physfn) {
    return none("has no PF on this machine: it is not a VF, or this is a VM and the PF is the hypervisor's");
  }
  const std::string pf_folder = "sys/bus/pci/devices/" + *physfn;
  VfPlace out;
  out.pf = TRY(choose_uplink(sys, TRY(sys.list(pf_folder + "/net"), "").value_or(SysRoot::Names())), "");
  if (out.pf.empty()) return none("has a PF, " + *physfn + ", without an interface in the host");
  const auto link = TRY(sys.number(pf_folder + "/net/" + out.pf + "/ifindex"), "");
  if (!link) {
    return Error{Errc::busy, 0, "the index of " + out.pf + ", the PF of " + device.key + ", cannot be read"};
  }
  out.pf_link = static_cast<int>(*link);
  for (;; ++out.index) {
    const auto vf = TRY(sys.link_name(pf_folder + "/virtfn" + std::to_string(out.index)), "");
    if (!vf) return none("is none of the VFs of " + *physfn);
    if (*vf == device.id->text()) return VfSearch{std::move(out), ""};
  }
}

Result<> rebind_driver(const SysRoot& sys, const DeviceId& id) {
  const auto write = [&](const std::string& file) -> Result<> {
    const UniqueFd fd(::open(sys.path(file).c_str(), O_WRONLY | O_CLOEXEC));
    const std::string& name = id.text();
    if (fd.valid() && ::write(fd.get(), name.data(), name.size()) == static_cast<ssize_t>(name.size()))
      return {};
    return Error::from_errno(errno, "write " + name + " to " + file);
  };
  // None is bound if an earlier try was killed between the two.
  const std::string driver = TRY(sys.link_name(TRY(folder_of(sys, id), "") + "/driver"), "").value_or("");
  if (!driver.empty()) TRY(write("sys/bus/pci/drivers/" + driver + "/unbind"), "");
  return write("sys/bus/pci/drivers_probe");
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
  Device out = TRY(read_device(sys, *selector.id), "");
  if (!out.present) {
    return Error{Errc::not_found, 0,
                 "device " + selector.id->text() +
                     " is not on this node: neither a PCI function nor an auxiliary device has that name; "
                     "compare it with lspci -D and /sys/bus/auxiliary/devices, and leave it out of networks "
                     "that have a device plugin, which names the device"};
  }
  DeviceSelector others = selector;
  others.id.reset();
  if (others.empty()) return with_port(std::move(out), selector.port);
  // Static selectors beside an id: they may pick one of several netdevs, but must not mean another device.
  const std::string name = TRY(find_netdev(sys, host, others), "");
  if (std::find(out.netdevs.begin(), out.netdevs.end(), name) == out.netdevs.end()) {
    return Error{Errc::invalid, 0,
                 "the scheduler gave the device " + selector.id->text() +
                     ", but the configuration's device, hwaddr or kernelpath names " + name +
                     ", which is not part of it; take the static one out of the configuration"};
  }
  keep_netdevs(out, [&](size_t i) { return out.netdevs[i] == name; });
  return out;
}

}  // namespace vfrail
