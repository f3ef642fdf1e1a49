#include "plugin/rdma_facts.h"

namespace vfrail {

namespace {

// A character device of an RDMA device: which one, and for umad and issm of which port.
struct CharacterDevice {
  std::string name;  // "umad4"
  std::string ibdev;
  int64_t port = 0;
};

std::string below(const std::string& folder, const std::string& name) { return folder + "/" + name + "/"; }

// The class entries are children of the same PCI function as the RDMA device (ib_uverbs_add_one(),
// ib_umad_init_port_dev() and ib_ucm_add_one() take over its parent), so no other folder has to be searched.
std::vector<CharacterDevice> read_class(const FunctionFolder& folder, const std::string& entry) {
  std::vector<CharacterDevice> out;
  const SysRoot& sys = folder.sys();
  for (const std::string& name : folder.list(entry)) {
    const std::string base = below(folder.path(entry), name);
    const bool has_port = entry == "infiniband_mad";
    out.push_back({name, sys.text_or_none(base + "ibdev").value_or(""),
                   has_port ? sys.number_or_none(base + "port").value_or(0) : 0});
  }
  return out;
}

// "4: ACTIVE" -> "ACTIVE".
std::string port_state(const std::string& text) {
  const size_t space = text.find(": ");
  return space == std::string::npos ? text : text.substr(space + 2);
}

RdmaPort read_port(const SysRoot& sys, const std::string& folder, uint32_t number) {
  RdmaPort out;
  out.number = number;
  out.state = port_state(sys.text_or_none(folder + "state").value_or(""));
  out.link_layer = sys.text_or_none(folder + "link_layer").value_or("");
  return out;
}

}  // namespace

std::vector<RdmaFacts> read_rdma(const FunctionFolder& folder) {
  std::vector<RdmaFacts> out;
  for (const std::string& name : folder.list("infiniband")) {
    RdmaFacts device;
    device.name = name;
    const std::string ports = below(folder.path("infiniband"), name) + "ports";
    // Names sort as text, ports count: 10 comes after 9.
    const size_t count = folder.sys().list(ports).size();
    for (uint32_t number = 1; number <= count; ++number) {
      device.ports.push_back(read_port(folder.sys(), below(ports, std::to_string(number)), number));
    }
    out.push_back(std::move(device));
  }
  if (out.empty()) return out;
  const auto verbs = read_class(folder, "infiniband_verbs");
  const auto mads = read_class(folder, "infiniband_mad");
  const auto ucms = read_class(folder, "infiniband_cm");
  for (RdmaFacts& device : out) {
    for (const CharacterDevice& node : verbs) {
      if (node.ibdev == device.name) device.uverbs = node.name;
    }
    for (const CharacterDevice& node : ucms) {
      if (node.ibdev == device.name) device.ucm = node.name;
    }
    for (RdmaPort& port : device.ports) {
      for (const CharacterDevice& node : mads) {
        if (node.ibdev != device.name || node.port != port.number) continue;
        if (node.name.starts_with("umad")) port.umad = node.name;
        if (node.name.starts_with("issm")) port.issm = node.name;
      }
    }
  }
  return out;
}

std::vector<std::string> read_verbs_nodes(const FunctionFolder& folder) {
  return folder.list("infiniband_verbs");
}

}  // namespace vfrail
