#include "plugin/admin/report/report_distance.h"

#include "common/text.h"
#include "plugin/admin/console/table.h"
#include "plugin/device/prefer/distance.h"
#include "plugin/device/prefer/preferred.h"

#include <algorithm>
#include <map>

namespace vfrail::plugin {

namespace {

constexpr const char* kLegend =
    "CARD  the same card\n"
    "PIX   one PCIe switch\n"
    "PXB   several PCIe bridges, no host bridge\n"
    "PHB   through their PCIe host bridge\n"
    "NODE  other host bridges of the NUMA node\n"
    "SYS   another NUMA node\n";

// A place: a PF, and those of its functions that are shown.
struct Port {
  std::string name;  // of the PF's netdev; may be empty
  std::optional<int> numa_node;
  Place place;
  std::vector<std::string> devices;
};

using Ports = std::map<PciAddress, Port>;

// Devices that belong together.
struct Section {
  std::string title;
  const char* preference = nullptr;
  Ports ports;
};

void add(const DeviceFacts& function, Ports& to) {
  const auto [at, is_new] = to.try_emplace(port_of(function));
  Port& port = at->second;
  port.devices.push_back(function.id.text());
  if (!is_new) return;
  port.name = function.pf_name;
  if (!function.is_vf() && !function.netdevs.empty()) port.name = function.netdevs.front().name;
  port.numa_node = function.numa_node;
  port.place = place_of(function);
}

std::vector<Section> make_sections(const Inventory& inventory, const Pools& pools) {
  std::vector<Section> out;
  for (const Pool& pool : pools.pools) {
    Section& section = out.emplace_back();
    section.title = pool.resource();
    section.preference = word(preference_of(pool));
    for (const PoolDevice& device : pool.devices) add(device.facts, section.ports);
  }
  if (!out.empty()) return out;
  out.push_back({"all functions", nullptr, {}});
  for (const DeviceFacts& function : inventory.functions) add(function, out.front().ports);
  return out;
}

std::string numa_text(const std::optional<int>& node) { return node ? std::to_string(*node) : "-"; }

std::string label(char letter, size_t number) { return letter + std::to_string(number); }

std::string render(const Section& section, const std::vector<Gpu>& gpus) {
  size_t devices = 0;
  Row header{""};
  for (size_t i = 0; i < gpus.size(); ++i) header.push_back(label('G', i));
  for (const auto& [address, port] : section.ports) {
    header.push_back(label('P', header.size() - 1 - gpus.size()));
    devices += port.devices.size();
  }
  for (const char* title : {"NUMA", "DEVICES", "PF"}) header.emplace_back(title);
  std::vector<Row> rows{header};
  for (const auto& [address, port] : section.ports) {
    Row row{label('P', rows.size() - 1)};
    for (const Gpu& gpu : gpus) row.emplace_back(word(distance(port.place, place_of(gpu))));
    for (const auto& [other_address, other] : section.ports)
      row.emplace_back(address == other_address ? "X" : word(distance(port.place, other.place)));
    row.push_back(numa_text(port.numa_node));
    row.push_back(std::to_string(port.devices.size()));
    row.push_back(address.text() + (port.name.empty() ? "" : " " + port.name));
    rows.push_back(std::move(row));
  }
  std::string out =
      section.title + ": " + counted(devices, "device") + " of " + counted(section.ports.size(), "PF");
  if (section.preference != nullptr) out += std::string(", preferredAllocation ") + section.preference;
  return out + "\n" + (section.ports.empty() ? "" : align(rows));
}

Json numa_json(const std::optional<int>& node) { return node ? Json(*node) : Json(); }

Json port_json(const PciAddress& address, const Port& port, const Section& section,
               const std::vector<Gpu>& gpus) {
  Json to_gpus = Json::object();
  for (const Gpu& gpu : gpus) to_gpus.set(gpu.address.text(), word(distance(port.place, place_of(gpu))));
  Json to_ports = Json::object();
  for (const auto& [other_address, other] : section.ports) {
    if (other_address == address) continue;
    to_ports.set(other_address.text(), word(distance(port.place, other.place)));
  }
  Json out = Json::object();
  out.set("address", address.text()).set("name", port.name).set("numa_node", numa_json(port.numa_node));
  out.set("devices", Json(port.devices));
  out.set("gpus", std::move(to_gpus)).set("pfs", std::move(to_ports));
  return out;
}

}  // namespace

std::string render_distances(const Inventory& inventory, const Pools& pools) {
  std::string out;
  for (const Section& section : make_sections(inventory, pools))
    out += render(section, inventory.gpus) + "\n";
  std::vector<Row> gpus;
  for (const Gpu& gpu : inventory.gpus) {
    gpus.push_back({label('G', gpus.size()), gpu.address.text(), "vendor " + gpu.vendor,
                    "NUMA " + numa_text(gpu.numa_node)});
  }
  out += gpus.empty() ? "There is no GPU on this node.\n" : align(gpus);
  return out + "\n" + kLegend;
}

Json distances_json(const Inventory& inventory, const Pools& pools) {
  Json sections = Json::array();
  for (const Section& section : make_sections(inventory, pools)) {
    Json ports = Json::array();
    for (const auto& [address, port] : section.ports)
      ports.push(port_json(address, port, section, inventory.gpus));
    const bool is_pool = section.preference != nullptr;
    Json entry = Json::object();
    entry.set("resource", is_pool ? Json(section.title) : Json());
    entry.set("preferred_allocation", is_pool ? Json(section.preference) : Json());
    entry.set("pfs", std::move(ports));
    sections.push(std::move(entry));
  }
  return sections;
}

std::string describe_gpus(const DeviceFacts& function, const std::vector<Gpu>& gpus) {
  const Place here = place_of(function);
  std::map<Distance, std::vector<std::string>> by_distance;
  for (const Gpu& gpu : gpus) by_distance[distance(here, place_of(gpu))].push_back(gpu.address.text());
  std::string out;
  for (const auto& [far, addresses] : by_distance) {
    const bool nearest = out.empty();
    out += (nearest ? "" : ", ") + std::string(word(far)) + " to ";
    if (!nearest) {
      out += std::to_string(addresses.size()) + " more";
      continue;
    }
    out += addresses.size() == 1 ? "GPU" : "GPUs";
    for (const std::string& address : addresses) out += " " + address;
  }
  return out.empty() ? "no GPU on this node" : out;
}

}  // namespace vfrail::plugin
