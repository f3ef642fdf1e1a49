#include "common/errors/error_id.h"
#include "common/escape.h"
#include "common/text.h"
#include "plugin/admin/console/table.h"
#include "plugin/admin/report/report.h"
#include "plugin/device/match/units.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>

namespace vfrail::plugin {

namespace {

constexpr const char* kRed = "\x1b[31m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kCyan = "\x1b[36m";

const std::vector<Column>& columns() {
  static const std::vector<Column> kColumns = {
      {"DEVICE", 0},       {"VF", 5},      {"NETDEV", 3, 20}, {"RDMA", 6, 16},   {"DRIVER", 9},
      {"LINK", 7},         {"SPEED", 8},   {"NUMA", 10},      {"GPU", 11},       {"STATE", 1},
      {"RESOURCE", 2, 24}, {"POD", 4, 24}, {"CLAIM", 4, 24},  {"MODEL", 12, 24},
  };
  return kColumns;
}

// Where no pod has a device by a claim, nothing is said of claims.
bool has_claims(const NodeReport& report) {
  return std::any_of(report.devices.begin(), report.devices.end(), [](const DeviceReport& device) {
    return std::any_of(device.pods.begin(), device.pods.end(),
                       [](const PodUse& use) { return !use.claim.empty(); });
  });
}

template <class Item>
std::vector<Item> without_claims(std::vector<Item> row) {
  static const auto kPlace =
      std::find_if(columns().begin(), columns().end(),
                   [](const Column& column) { return std::string_view(column.title) == "CLAIM"; }) -
      columns().begin();
  row.erase(row.begin() + kPlace);
  return row;
}

// The port's own interface and how many more: a PF in switchdev mode has one for each of its VFs.
std::string netdev_text(const DeviceFacts& function) {
  if (function.netdevs.empty()) return "";
  const size_t more = function.netdevs.size() - 1;
  return function.netdevs.front().name + (more == 0 ? "" : " +" + std::to_string(more));
}

std::string rdma_text(const DeviceFacts& function) {
  std::string out;
  for (const RdmaFacts& rdma : function.rdma) out += (out.empty() ? "" : ",") + rdma.name;
  return out;
}

// "ether up", "IB ACTIVE"; the state of the RDMA device's ports if there are any, which is more precise.
std::string link_text(const DeviceFacts& function) {
  std::string out = function.link_type == "infiniband" ? "IB" : function.link_type;
  std::string state;
  for (const RdmaFacts& rdma : function.rdma) {
    for (const RdmaPort& port : rdma.ports) state += (state.empty() ? "" : " ") + port.state;
  }
  if (state.empty() && !function.netdevs.empty()) state = function.netdevs.front().operstate;
  return out + (out.empty() || state.empty() ? "" : " ") + state;
}

// "400G", "2.5G", "100M".
std::string speed_text(const std::optional<uint32_t>& mbps) {
  if (!mbps) return "";
  if (*mbps < 1000) return std::to_string(*mbps) + "M";
  const uint32_t tenths = *mbps % 1000 / 100;
  return std::to_string(*mbps / 1000) + (tenths == 0 ? "" : "." + std::to_string(tenths)) + "G";
}

// Of "MT2910 Family [ConnectX-7]" the common name. A VF has its PF's model.
std::string model_text(const DeviceReport& device) {
  if (device.function->pf) return "";
  const std::string& name = device.hardware.device_name;
  if (name.empty()) return device.function->vendor + ":" + device.function->device;
  const size_t open = name.find('[');
  const size_t close = name.find(']', open);
  return close == std::string::npos ? name : name.substr(open + 1, close - open - 1);
}

std::string resource_text(const DeviceReport& device) {
  std::vector<std::string> out;
  for (const ResourceUse& use : device.resources) out.push_back(use.pool->resource());
  return joined(out);
}

std::string pod_text(const DeviceReport& device) {
  std::vector<std::string> out;
  for (const PodUse& use : device.pods) out.push_back(use.text());
  return joined(out);
}

// "gpu-and-nic (nic)": the claim and the request.
std::string claim_text(const DeviceReport& device) {
  std::vector<std::string> out;
  for (const PodUse& use : device.pods) {
    if (!use.claim.empty()) out.push_back(use.claim + " (" + use.request + ")");
  }
  return joined(out);
}

const char* colour_of(DeviceState state) {
  switch (state) {
    case DeviceState::unhealthy:
      return kRed;
    case DeviceState::healthy:
      return kGreen;
    case DeviceState::allocated:
      return kCyan;
    case DeviceState::other_netns:
      return kYellow;
    case DeviceState::has_vfs:
    case DeviceState::manages_nvlink:
    case DeviceState::no_driver:
    case DeviceState::host_use:
    case DeviceState::not_selected:
    case DeviceState::unconfigured:
      break;
  }
  return "";
}

// "not selected [2]"; without a configuration only what has a note has a state.
std::string state_text(DeviceState state, const std::string& notes) {
  std::string out = state == DeviceState::unconfigured ? "" : name_of(state);
  if (state == DeviceState::has_vfs) out = "PF with VFs";
  if (state == DeviceState::manages_nvlink) out = "NVLink";
  std::replace(out.begin(), out.end(), '_', ' ');
  return out + (out.empty() || notes.empty() ? "" : " ") + notes;
}

// "PF is eth0#3, want one of [eth0#0-2]" without what the device has, where each has another: one note for
// all.
std::string general(const std::string& reason) {
  static constexpr const char* kOfOne[] = {"PF is ",        "root device is ", "VF index is ",  "address is ",
                                           "interface is ", "MAC address is ", "ACPI index is "};
  const size_t is = reason.find(" is ");
  const size_t want = reason.rfind(", want ");
  if (is == std::string::npos || want == std::string::npos || want < is) return reason;
  const bool of_one = std::any_of(std::begin(kOfOne), std::end(kOfOne),
                                  [&](const char* fact) { return reason.find(fact) != std::string::npos; });
  if (!of_one) return reason;
  return reason.substr(0, is) + " does not match" + reason.substr(want);
}

// A device that is left out on purpose needs no remedy, and a node has many of them.
bool is_trouble(ErrorId id) {
  return id != ErrorId::not_selected && id != ErrorId::pf_has_vfs && id != ErrorId::other_device_type;
}

// Reasons, each listed once below the table, and referred to by its number.
class Notes {
 public:
  std::string refer_to(const std::vector<Reason>& reasons) {
    std::vector<std::string> out;
    for (const Reason& reason : reasons) {
      const std::string mark = std::to_string(number(reason));
      if (std::find(out.begin(), out.end(), mark) == out.end()) out.push_back(mark);
    }
    return out.empty() ? "" : "[" + joined(out, ",") + "]";
  }
  std::string text(size_t width) const {
    std::string out;
    for (size_t i = 0; i < texts_.size(); ++i) {
      const std::string mark = "[" + std::to_string(i + 1) + "]";
      out += wrapped(mark + " " + escaped(texts_[i]), width, mark.size() + 1) + "\n";
    }
    return out.empty() ? "" : "\n" + out;
  }

 private:
  size_t number(const Reason& reason) {
    const std::string text = (reason.resources.empty() ? "" : joined(reason.resources) + ": ") +
                             general(reason.text) +
                             (is_trouble(reason.id) ? " [" + id_text(reason.id) + "]" : "");
    const auto [at, is_new] = numbers_.try_emplace(text, texts_.size() + 1);
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> texts_;
};

// A device with what is shown below it, in the order of the addresses.
struct Branch {
  const DeviceReport* device = nullptr;
  std::vector<const DeviceReport*> below;
};

std::vector<Branch> as_tree(const NodeReport& report) {
  std::map<PciAddress, size_t> tops;  // the place in `out`
  std::vector<Branch> out;
  for (const DeviceReport& device : report.devices) {
    if (device.function->pf) continue;
    tops[device.function->address] = out.size();
    out.push_back({&device, {}});
  }
  for (const DeviceReport& device : report.devices) {
    if (!device.function->pf || !device.shown) continue;
    const auto top = tops.find(*device.function->pf);
    if (top != tops.end())
      out[top->second].below.push_back(&device);
    else
      out.push_back({&device, {}});
  }
  // A PF that is not requested stays for those below it.
  std::erase_if(out, [](const Branch& branch) { return !branch.device->shown && branch.below.empty(); });
  std::stable_sort(out.begin(), out.end(), [](const Branch& a, const Branch& b) {
    return a.device->function->address < b.device->function->address;
  });
  return out;
}

std::vector<Cell> make_row(const std::string& prefix, const DeviceReport& device, const NodeReport& report,
                           const std::string& notes) {
  const DeviceFacts& function = *device.function;
  const auto gpu = nearest_gpu(function, report.facts.inventory.gpus);
  return {{prefix + device.id()},
          {function.vf_index < 0 ? "" : std::to_string(function.vf_index)},
          {netdev_text(function)},
          {rdma_text(function)},
          {function.driver.name()},
          {link_text(function)},
          {speed_text(device.hardware.speed_mbps)},
          {function.numa_node ? std::to_string(*function.numa_node) : ""},
          {gpu ? word(*gpu) : ""},
          {state_text(device.state, notes), colour_of(device.state)},
          {resource_text(device)},
          {pod_text(device)},
          {claim_text(device)},
          {model_text(device)}};
}

std::vector<std::vector<Cell>> make_rows(const NodeReport& report, const TableOptions& options,
                                         Notes& notes) {
  std::vector<std::vector<Cell>> out;
  const bool claims = has_claims(report);
  const auto add = [&](const std::string& prefix, const DeviceReport& device) {
    auto row = make_row(prefix, device, report, options.headers ? notes.refer_to(device.reasons) : "");
    out.push_back(claims ? std::move(row) : without_claims(std::move(row)));
  };
  const bool utf8 = options.terminal.utf8;
  for (const Branch& branch : as_tree(report)) {
    add("", *branch.device);
    for (const DeviceReport* device : branch.below) {
      const bool last = device == branch.below.back();
      add(last ? (utf8 ? "└─" : "`-") : (utf8 ? "├─" : "|-"), *device);
    }
  }
  return out;
}

// What kubelet counts if that is not devices: "; 4 units: 3 healthy, 1 unhealthy".
std::string unit_summary(const Pool& pool) {
  if (pool.config.unit == UnitKind::device) return "";
  const std::vector<Unit> units = make_units(pool);
  const size_t healthy = count_healthy(units);
  std::string out = "; " + counted(units.size(), "unit") + ": " + std::to_string(healthy) + " healthy";
  if (healthy < units.size()) out += ", " + std::to_string(units.size() - healthy) + " unhealthy";
  return out;
}

// "nvidia.com/hostdev: 8 devices: 6 healthy, 2 allocated".
std::string summary(const Pool& pool, const NodeReport& report) {
  std::map<DeviceState, size_t> states;
  for (const DeviceReport& device : report.devices) {
    for (const ResourceUse& use : device.resources) {
      if (use.pool == &pool) ++states[device.state];
    }
  }
  std::string out = pool.resource() + ": " + counted(pool.devices.size(), "device");
  const char* separator = ": ";
  for (const auto& [state, number] : states) {
    out += separator + std::to_string(number) + " " + name_of(state);
    separator = ", ";
  }
  out += unit_summary(pool);
  const std::string way = report.facts.claims.way_of(pool.resource());
  return out + (way.empty() ? "" : "; " + way);
}

std::vector<std::string> summaries(const NodeReport& report) {
  const InspectFacts& facts = report.facts;
  std::vector<std::string> out;
  for (const Pool& pool : facts.pools.pools) out.push_back(summary(pool, report));
  if (facts.config) {
    out.push_back("in no resource: " + counted(facts.pools.left_out.size(), "function"));
    out.push_back("configuration: " + facts.config_file);
  } else {
    out.emplace_back("no configuration, so no resources: --config-file names one");
  }
  const auto& mode = facts.inventory.rdma_netns_mode;
  out.push_back(std::string("RDMA network namespace mode: ") + (!mode ? "not known (RDMA is not loaded)"
                                                                : *mode == RdmaNetnsMode::exclusive
                                                                    ? "exclusive"
                                                                    : "shared"));
  return out;
}

std::string footer(const NodeReport& report, const TableOptions& options,
                   const std::vector<std::string>& hidden) {
  std::vector<std::string> lines;
  if (!options.filtered) lines = summaries(report);
  if (!hidden.empty())
    lines.push_back("hidden, the terminal is too narrow: " + joined(hidden) + "; -o wide shows all");
  for (const Warning& warning : report.facts.warnings) lines.push_back("warning: " + warning.line());
  std::string out = lines.empty() ? "" : "\n";
  for (const std::string& line : lines) out += wrapped(escaped(line), options.terminal.width, 2) + "\n";
  return out;
}

}  // namespace

std::string render_table(const NodeReport& report, const TableOptions& options) {
  Notes notes;
  const auto rows = make_rows(report, options, notes);
  std::vector<std::string> hidden;
  std::string out;
  if (!rows.empty()) {
    out = draw(
        has_claims(report) ? columns() : without_claims(columns()), rows,
        {.width = options.terminal.width, .headers = options.headers, .colours = options.terminal.colours},
        hidden);
  } else if (options.headers) {
    out = report.devices.empty() ? "There is no PCI network function.\n" : "No device matches.\n";
  }
  if (!options.headers) return out;
  return out + notes.text(options.terminal.width) + footer(report, options, hidden);
}

}  // namespace vfrail::plugin
