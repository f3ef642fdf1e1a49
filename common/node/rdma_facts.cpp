#include "common/node/rdma_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace vfrail {

namespace {

// A character device of an RDMA device: which one, and for umad and issm of which port.
struct CharacterDevice {
  std::string name;  // "umad4"
  std::string ibdev;
  int64_t port = 0;
};

constexpr std::string_view kInfiniBand = "InfiniBand";

std::string below(const std::string& folder, const std::string& name) { return folder + "/" + name + "/"; }

// The class entries are children of the same PCI function as the RDMA device (ib_uverbs_add_one(),
// ib_umad_init_port_dev() and ib_ucm_add_one() use its parent), so no other folder has to be searched.
Result<std::vector<CharacterDevice>> read_class(const DeviceFolder& folder, const std::string& entry) {
  std::vector<CharacterDevice> out;
  for (const std::string& name : TRY(folder.list(entry))) {
    const std::string base = below(entry, name);
    const bool has_port = entry == kMadNodes;
    CharacterDevice one;
    one.name = name;
    one.ibdev = TRY(folder.text(base + "ibdev"));
    if (has_port) one.port = TRY(folder.number(base + "port")).value_or(0);
    out.push_back(std::move(one));
  }
  return out;
}

// "4: ACTIVE" -> "ACTIVE", "4: RNIC" -> "RNIC".
std::string port_state(const std::string& text) {
  const size_t space = text.find(": ");
  return space == std::string::npos ? text : text.substr(space + 2);
}

Result<> read_ports(const DeviceFolder& folder, RdmaFacts& out) {
  const std::string base = below(kRdmaDevices, out.name);
  out.guid = TRY(folder.text(base + "node_guid"));
  for (uint32_t number = 1;; ++number) {
    const std::string port = rdma_port_folder(out.name, number);
    if (!TRY(folder.exists(port))) break;
    out.ports.push_back(TRY(read_rdma_port(folder, port, number)));
  }
  const bool decided = !out.ports.empty() && out.ports.front().link_layer == kInfiniBand;
  if (!decided) out.node_type = TRY(read_node_type(folder, base));
  return {};
}

void assign_mad(const CharacterDevice& node, RdmaPort& port) {
  if (node.name.starts_with("umad")) port.umad = node.name;
  if (node.name.starts_with("issm")) port.issm = node.name;
}

// The port of a node of this device; null if it has none. A tree that somebody has written by hand can lack
// the node's file `port`, or the device's folder `ports`, which the peers do not read. A number of 0 is
// not known.
RdmaPort* port_of(const CharacterDevice& node, bool lists_ports, RdmaFacts& device) {
  const auto at = std::find_if(device.ports.begin(), device.ports.end(),
                               [&](const RdmaPort& port) { return port.number == node.port; });
  if (at != device.ports.end()) return &*at;
  if (lists_ports) return node.port == 0 ? &device.ports.front() : nullptr;
  device.ports.emplace_back().number = static_cast<uint32_t>(node.port);
  return &device.ports.back();
}

// The files of each node name its device, which is needed with several devices or ports.
Result<> assign_nodes(const DeviceFolder& folder, std::vector<RdmaFacts>& devices) {
  const auto verbs = TRY(read_class(folder, kVerbsNodes));
  const auto mads = TRY(read_class(folder, kMadNodes));
  const auto ucms = TRY(read_class(folder, "infiniband_cm"));
  for (RdmaFacts& device : devices) {
    for (const CharacterDevice& node : verbs) {
      if (node.ibdev == device.name) device.uverbs = node.name;
    }
    for (const CharacterDevice& node : ucms) {
      if (node.ibdev == device.name) device.ucm = node.name;
    }
    const bool lists_ports = !device.ports.empty();
    for (const CharacterDevice& node : mads) {
      if (node.ibdev != device.name) continue;
      if (RdmaPort* port = port_of(node, lists_ports, device)) assign_mad(node, *port);
    }
  }
  return {};
}

// With one device, one port and one verbs node the nodes can belong to no other, which is so for nearly every
// VF.
Result<> assign_only_nodes(const DeviceFolder& folder, const std::string& verbs_node, RdmaFacts& device) {
  device.uverbs = verbs_node;
  for (const std::string& name : TRY(folder.list(kMadNodes)))
    assign_mad({name, device.name, 1}, device.ports.front());
  const auto ucms = TRY(folder.list("infiniband_cm"));
  if (!ucms.empty()) device.ucm = ucms.front();
  return {};
}

}  // namespace

const char* name_of(Transport transport) {
  switch (transport) {
    case Transport::infiniband:
      return "InfiniBand";
    case Transport::roce:
      return "RoCE";
    case Transport::iwarp:
      return "iWARP";
    case Transport::own:
      return "own protocol";
    case Transport::unknown:
      break;
  }
  return "not known";
}

// node_type_show() prints these words.
Transport transport_of(const std::string& node_type, const std::string& link_layer) {
  if (node_type == "RNIC") return Transport::iwarp;
  if (node_type == "unspecified" || node_type.starts_with("usNIC")) return Transport::own;
  if (link_layer == kInfiniBand) return Transport::infiniband;
  return link_layer == "Ethernet" ? Transport::roce : Transport::unknown;
}

Transport RdmaFacts::transport() const {
  return transport_of(node_type, ports.empty() ? std::string() : ports.front().link_layer);
}

Result<std::string> read_node_type(const DeviceFolder& folder, const std::string& base) {
  return port_state(TRY(folder.text(base + "node_type")));
}

std::string rdma_port_folder(const std::string& rdma, uint32_t number) {
  return below(below(kRdmaDevices, rdma) + "ports", std::to_string(number));
}

// The first two are queries to the firmware (ib_query_port()).
Result<RdmaPort> read_rdma_port(const DeviceFolder& folder, const std::string& base, uint32_t number) {
  RdmaPort out;
  out.number = number;
  out.state = port_state(TRY(folder.text_of_firmware(base + "state")));
  out.physical = port_state(TRY(folder.text_of_firmware(base + "phys_state")));
  out.link_layer = TRY(folder.text(base + "link_layer"));
  return out;
}

Result<std::string> read_port_rate(const DeviceFolder& folder, const std::string& base) {
  return folder.text(base + "rate");
}

std::optional<uint32_t> rate_mbps(const std::string& rate) {
  char* end = nullptr;
  const double number = std::strtod(rate.c_str(), &end);
  if (!std::string_view(end).starts_with(" Gb/sec") || !(number > 0 && number < 1e6)) return std::nullopt;
  return static_cast<uint32_t>(std::lround(number * 1000));
}

Result<> read_link_layer(const DeviceFolder& folder, RdmaFacts& out) {
  RdmaPort port;
  port.link_layer = TRY(folder.text(rdma_port_folder(out.name, 1) + "link_layer"));
  out.ports = {std::move(port)};
  return {};
}

Result<> read_rdma_ports(const DeviceFolder& folder, const std::vector<std::string>& verbs_nodes,
                         std::vector<RdmaFacts>& out) {
  for (RdmaFacts& device : out) TRY(read_ports(folder, device));
  if (out.empty()) return {};
  if (out.size() == 1 && out.front().ports.size() == 1 && verbs_nodes.size() == 1)
    return assign_only_nodes(folder, verbs_nodes.front(), out.front());
  return assign_nodes(folder, out);
}

Result<std::string> read_rdma_of_node(const DeviceFolder& folder, const std::string& node) {
  return folder.text(below(kVerbsNodes, node) + "ibdev");
}

Result<std::vector<std::string>> read_rdma_names_anywhere(const DeviceFolder& folder,
                                                          const std::vector<std::string>& verbs_nodes) {
  std::vector<std::string> out;
  for (const std::string& node : verbs_nodes) {
    std::string name = TRY(read_rdma_of_node(folder, node));
    if (!name.empty()) out.push_back(std::move(name));
  }
  return out;
}

}  // namespace vfrail
