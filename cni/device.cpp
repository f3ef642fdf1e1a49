#include "cni/device.h"

#include "common/text.h"
#include "common/unique_fd.h"
#include "common/uplink.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <unistd.h>

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

// The kernel's number of the port behind a netdev, which it keeps whatever it is called and wherever it is.
uint32_t read_port(const SysRoot& sys, const std::string& folder, const std::string& name) {
  return static_cast<uint32_t>(sys.number_or_none(folder + "/net/" + name + "/dev_port").value_or(0));
}

// Those in the folder's `net`, by port, then by name.
void add_netdevs(const SysRoot& sys, const std::string& folder, Device& out) {
  std::vector<std::pair<uint32_t, std::string>> found;
  for (std::string& name : sys.list(folder + "/net")) {
    const uint32_t port = read_port(sys, folder, name);
    found.emplace_back(port, std::move(name));
  }
  std::sort(found.begin(), found.end());
  for (auto& [port, name] : found) {
    out.ports.push_back(port);
    out.netdevs.push_back(std::move(name));
  }
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

Device device_with_netdev(const SysRoot& sys, const std::string& name) {
  if (const auto id = device_of_netdev(sys, name)) {
    Device out = read_device(sys, *id);
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
    Device found;
    found.key = selector.kernel_path;
    add_netdevs(sys, selector.kernel_path.substr(1), found);
    found = TRY(with_port(std::move(found), selector.port), "");
    if (!found.netdevs.empty()) return found.netdevs.front();
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

Result<std::vector<std::string>> read_rdma_nodes(const SysRoot& sys, const DeviceId& id) {
  const std::string folder = folder_of(sys, id);
  std::vector<std::string> out;
  for (const char* kind : {"infiniband_verbs", "infiniband_mad"}) {
    for (std::string& name : TRY(sys.look_into(folder + "/" + kind), "")) out.push_back(std::move(name));
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
  add_netdevs(sys, folder, out);
  if (out.netdevs.empty()) {
    for (const std::string& entry : sys.list(folder)) {
      if (entry.starts_with("virtio")) add_netdevs(sys, folder + "/" + entry, out);
    }
  }
  out.rdma = sys.list(folder + "/infiniband");
  out.nodes = read_rdma_nodes(sys, id).value_or(std::vector<std::string>());
  for (const std::string& name : out.rdma) {
    const auto layer = sys.text_or_none(folder + "/infiniband/" + name + "/ports/1/link_layer");
    out.roce = out.roce || layer == "Ethernet";
  }
  return out;
}

Result<VfSearch> find_vf_place(const SysRoot& sys, const Device& device) {
  const auto none = [&](const std::string& why) { return VfSearch{std::nullopt, device.key + " " + why}; };
  if (!device.id || !device.id->pci()) return none("is no PCI function, so no VF");
  const auto physfn = TRY(sys.look_at_link(folder_of(sys, *device.id) + "/physfn"), "");
  if (!physfn) {
    return none("has no PF on this machine: it is no VF, or this is a VM and the PF is the hypervisor's");
  }
  const std::string pf_folder = "sys/bus/pci/devices/" + *physfn;
  VfPlace out;
  out.pf = choose_uplink(sys, TRY(sys.look_into(pf_folder + "/net"), ""));
  if (out.pf.empty()) return none("has a PF, " + *physfn + ", without an interface in the host");
  const auto link = sys.number_or_none(pf_folder + "/net/" + out.pf + "/ifindex");
  if (!link) {
    return Error{Errc::busy, 0, "the index of " + out.pf + ", the PF of " + device.key + ", cannot be read"};
  }
  out.pf_link = static_cast<int>(*link);
  for (;; ++out.index) {
    const auto vf = TRY(sys.look_at_link(pf_folder + "/virtfn" + std::to_string(out.index)), "");
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
  const std::string driver = sys.link_name(folder_of(sys, id) + "/driver").value_or("");
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
  Device out = read_device(sys, *selector.id);
  if (!out.present) {
    return Error{Errc::not_found, 0,
                 "device " + selector.id->text() +
                     " is not on this node: neither a PCI function nor an auxiliary device has that name"};
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
