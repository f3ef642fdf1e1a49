#include "cni/in_pod/rails.h"

#include "common/ids.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <tuple>

namespace vfrail {

namespace {

constexpr const char* kRdmaClass = "sys/class/infiniband";
constexpr const char* kVerbsClass = "sys/class/infiniband_verbs";

Result<std::vector<std::string>> names_in(const SysRoot& sys, const std::string& folder) {
  return TRY(sys.list(folder), "").value_or(SysRoot::Names());
}

Result<std::string> text_in(const SysRoot& sys, const std::string& file) {
  return TRY(sys.text(file), "").value_or("");
}

// "4: ACTIVE" -> "ACTIVE".
std::string behind_colon(const std::string& text) {
  const size_t at = text.find(": ");
  return at == std::string::npos ? text : text.substr(at + 2);
}

std::optional<uint32_t> number_of(const std::string& text) {
  uint32_t out = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && at == end ? std::optional(out) : std::nullopt;
}

int roce_version_of(const std::string& type) {
  if (type == "RoCE v2") return 2;
  return type == "IB/RoCE v1" || type == "RoCE v1" ? 1 : 0;
}

// Entries that are not in use are all zeros, and their types and netdevs are EINVAL, which SysRoot takes for
// "not there". There are holes, so the table is read to its end.
Result<std::vector<Gid>> read_gids(const SysRoot& port) {
  std::vector<Gid> out;
  for (const std::string& name : TRY(names_in(port, "gids"), "")) {
    const auto index = number_of(name);
    const auto address = IpAddress::parse(TRY(text_in(port, "gids/" + name), ""));
    if (!index || !address) continue;
    const auto& bytes = address->bytes;
    if (std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; })) continue;
    Gid gid{*index, *address, 0, {}};
    gid.roce_version = roce_version_of(TRY(text_in(port, "gid_attrs/types/" + name), ""));
    gid.netdev = TRY(text_in(port, "gid_attrs/ndevs/" + name), "");
    out.push_back(std::move(gid));
  }
  std::sort(out.begin(), out.end(), [](const Gid& a, const Gid& b) { return a.index < b.index; });
  return out;
}

Result<RailPort> read_port_of(const SysRoot& port, uint32_t number) {
  RailPort out;
  out.number = number;
  out.state = behind_colon(TRY(text_in(port, "state"), ""));
  out.physical = behind_colon(TRY(text_in(port, "phys_state"), ""));
  out.link_layer = TRY(text_in(port, "link_layer"), "");
  out.rate = TRY(text_in(port, "rate"), "");
  out.gids = TRY(read_gids(port), "");
  return out;
}

// Of software: "parent" is rxe's file, with the name of the interface below it, in whichever namespace.
Result<> read_place(const SysRoot& sys, const SysRoot& device, Rail& out) {
  const std::string name = TRY(device.link_name("device"), "").value_or("");
  if (PciAddress::parse(name)) out.pci = name;
  out.pf = TRY(device.link_name("device/physfn"), "").value_or("");
  out.driver = TRY(device.link_name("device/driver"), "").value_or("");
  out.netdevs = TRY(names_in(device, "device/net"), "");
  const auto numa = TRY(device.number("device/numa_node"), "");
  if (numa && *numa >= 0) out.numa_node = numa;
  const std::string parent = TRY(text_in(device, "parent"), "");
  if (parent.empty()) return {};
  out.driver = "rxe";
  if (TRY(sys.exists("sys/class/net/" + parent), "")) out.netdevs = {parent};
  return {};
}

// Interfaces that only the table of GIDs names: of software without a parent, and of virtio.
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

double RailPort::gbits() const { return std::max(std::strtod(rate.c_str(), nullptr), 0.0); }

std::string Rail::folder() const { return std::string(kRdmaClass) + "/" + name; }

Result<std::vector<Rail>> read_rails(const SysRoot& sys) {
  const auto nodes = TRY(read_verbs_nodes(sys), "");
  const auto in_dev = TRY(list_device_nodes(sys), "");
  std::vector<Rail> out;
  for (const std::string& name : TRY(names_in(sys, kRdmaClass), "")) {
    Rail rail;
    rail.name = name;
    const SysRoot device = sys.at(rail.folder());
    TRY(read_place(sys, device, rail), name);
    for (const VerbsNode& node : nodes) {
      if (node.rdma == name) rail.uverbs = node.name;
    }
    rail.has_node = std::find(in_dev.begin(), in_dev.end(), rail.uverbs) != in_dev.end();
    for (const std::string& port : TRY(names_in(device, "ports"), "")) {
      if (const auto number = number_of(port))
        rail.ports.push_back(TRY(read_port_of(device.at("ports/" + port), *number), name));
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
  for (const std::string& name : TRY(names_in(sys, kVerbsClass), "")) {
    const SysRoot folder = sys.at(std::string(kVerbsClass) + "/" + name);
    VerbsNode node;
    node.name = name;
    node.rdma = TRY(text_in(folder, "ibdev"), "");
    node.number = TRY(text_in(folder, "dev"), "");
    if (node.rdma.empty()) continue;  // abi_version, which is a file of the class
    const std::string device = TRY(folder.link_name("device"), "").value_or("");
    if (PciAddress::parse(device)) node.pci = device;
    out.push_back(std::move(node));
  }
  return out;
}

Result<std::vector<std::string>> list_device_nodes(const SysRoot& sys) {
  return names_in(sys, "dev/infiniband");
}

}  // namespace vfrail
