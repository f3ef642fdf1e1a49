#include "cni/in_pod/facts/rails.h"

#include "common/node/device.h"
#include "common/text.h"

#include <algorithm>
#include <tuple>

namespace vfrail::pod {

namespace {

constexpr const char* kRdmaClass = "sys/class/infiniband";

Result<std::vector<std::string>> names_in(const SysRoot& sys, const std::string& folder) {
  return TRY(sys.list(folder)).value_or(SysRoot::Names());
}

Result<RailPort> read_rail_port(const SysRoot& port, uint32_t number) {
  const DeviceFolder folder(port);
  RailPort out;
  static_cast<RdmaPort&>(out) = TRY(read_rdma_port(folder, "", number));
  out.rate = TRY(read_port_rate(folder, ""));
  out.gids = TRY(read_gids(port));
  return out;
}

// What the device is that the RDMA device belongs to. Software (rxe, siw) has none.
Result<> read_place(const SysRoot& sys, const std::string& name, Rail& out) {
  const auto id = DeviceId::parse(name);
  if (!id) return {};
  constexpr Facts kWanted = Facts::numa_node | Facts::pf | Facts::driver | Facts::netdevs;
  const auto device = TRY(read_device(sys, *id, kWanted));
  if (!device) return {};
  if (id->pci()) out.pci = name;
  if (id->pci() && device->pf) out.pf = device->pf->text();  // a sub-function is not a VF
  out.driver = device->driver.name();
  out.netdevs = device->netdev_names();
  out.numa_node = device->numa_node;
  return {};
}

// Of software: "parent" is rxe's file, with the name of the interface below it, in whichever namespace.
Result<> read_parent(const SysRoot& sys, const SysRoot& rdma, Rail& out) {
  const std::string parent = TRY(rdma.text("parent")).value_or("");
  if (parent.empty()) return {};
  out.driver = "rxe";
  if (TRY(sys.exists("sys/class/net/" + parent))) out.netdevs = {parent};
  return {};
}

// Interfaces that only the table of GIDs names: of software without a parent.
void add_netdevs_of_gids(Rail& rail) {
  if (!rail.netdevs.empty()) return;
  for (const RailPort& port : rail.ports) {
    for (const Gid& gid : port.gids) {
      const bool known =
          std::find(rail.netdevs.begin(), rail.netdevs.end(), gid.netdev) != rail.netdevs.end();
      if (!gid.netdev.empty() && !known) rail.netdevs.push_back(gid.netdev);
    }
  }
}

}  // namespace

const Gid* RailPort::find(uint32_t index) const {
  const auto at = std::find_if(gids.begin(), gids.end(), [&](const Gid& gid) { return gid.index == index; });
  return at == gids.end() ? nullptr : &*at;
}

const Gid* RailPort::find(const IpAddress& address, int roce_version) const {
  const auto at = std::find_if(gids.begin(), gids.end(), [&](const Gid& gid) {
    const auto v4 = ipv4_of(gid.address);
    return gid.roce_version == roce_version && (v4 ? v4->bytes : gid.address.bytes) == address.bytes;
  });
  return at == gids.end() ? nullptr : &*at;
}

double RailPort::gbits() const { return rate_mbps(rate).value_or(0) / 1000.0; }

std::string Rail::folder() const { return std::string(kRdmaClass) + "/" + name; }

Result<std::vector<Rail>> read_rails(const SysRoot& sys) {
  const auto nodes = TRY(read_verbs_nodes(sys));
  const auto in_dev = TRY(list_device_nodes(sys));
  std::vector<Rail> out;
  for (const std::string& name : TRY(names_in(sys, kRdmaClass))) {
    Rail rail;
    rail.name = name;
    const SysRoot device = sys.at(rail.folder());
    TRY(read_place(sys, TRY(device.link_name("device")).value_or(""), rail), name);
    TRY(read_parent(sys, device, rail), name);
    for (const VerbsNode& node : nodes) {
      if (node.rdma == name) rail.uverbs = node.name;
    }
    rail.has_node = std::find(in_dev.begin(), in_dev.end(), rail.uverbs) != in_dev.end();
    const std::string node_type = TRY(read_node_type(DeviceFolder(device), ""), name);
    for (const std::string& port : TRY(names_in(device, "ports"))) {
      const auto number = parse_decimal(port);
      if (!number) continue;
      rail.ports.push_back(TRY(read_rail_port(device.at("ports/" + port), *number), name));
      rail.ports.back().node_type = node_type;
    }
    add_netdevs_of_gids(rail);
    out.push_back(std::move(rail));
  }
  std::sort(out.begin(), out.end(),
            [](const Rail& a, const Rail& b) { return std::tie(a.pci, a.name) < std::tie(b.pci, b.name); });
  return out;
}

Result<std::vector<VerbsNode>> read_verbs_nodes(const SysRoot& sys) {
  std::vector<VerbsNode> out;
  const DeviceFolder folder(sys.at("sys/class"));
  for (const std::string& name : TRY(folder.list(kVerbsNodes))) {
    const std::string entry = std::string(kVerbsNodes) + "/" + name;
    VerbsNode node;
    node.name = name;
    node.rdma = TRY(read_rdma_of_node(folder, name));
    if (node.rdma.empty()) continue;  // abi_version, which is a file of the class
    node.number = TRY(folder.text(entry + "/dev"));
    const std::string device = TRY(folder.link_name(entry + "/device"));
    if (PciAddress::parse(device)) node.pci = device;
    out.push_back(std::move(node));
  }
  return out;
}

Result<std::vector<std::string>> list_device_nodes(const SysRoot& sys) {
  return names_in(sys, "dev/infiniband");
}

}  // namespace vfrail::pod
