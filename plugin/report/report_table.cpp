#include "common/escape.h"
#include "common/text.h"
#include "plugin/report/report.h"
#include "plugin/report/table.h"

#include <algorithm>
#include <map>

namespace vfrail {

namespace {

// Where a function ended up: "nvidia.com/hostdev", or the reasons why nowhere; and why it is unhealthy there.
struct Outcome {
  std::string pool;
  std::vector<std::string> reasons;
};

std::map<std::string, Outcome> find_outcomes(const Pools& pools) {
  std::map<std::string, Outcome> out;
  for (const Pool& pool : pools.pools) {
    for (const PoolDevice& device : pool.devices) {
      Outcome& outcome = out[device.id()];
      outcome.pool += (outcome.pool.empty() ? "" : ", ") + pool.resource();
      if (!device.fault.empty()) outcome.reasons.push_back("unhealthy: " + device.fault.text);
    }
  }
  for (const LeftOut& left : pools.left_out) out[left.id].reasons = left.reasons;
  return out;
}

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

// "In a pod" only if it is known; a device can also be in a namespace that somebody made by hand.
std::string where_it_is(const PciFunction& function) {
  return function.attached ? "(in a pod)" : "(elsewhere)";
}

// The port's own interface and how many more: a PF in switchdev mode has one for each of its VFs.
std::string netdev_text(const PciFunction& function) {
  if (function.netdevs.empty()) return function.away() ? where_it_is(function) : "-";
  const size_t more = function.netdevs.size() - 1;
  return function.netdevs.front().name + (more == 0 ? "" : " +" + std::to_string(more));
}

std::string rdma_text(const PciFunction& function) {
  std::string out;
  for (const RdmaFacts& rdma : function.rdma) out += (out.empty() ? "" : ",") + rdma.name;
  if (out.empty() && function.rdma_capable) return where_it_is(function);
  return or_dash(out);
}

std::string port_text(const PciFunction& function) {
  std::string out;
  for (const RdmaFacts& rdma : function.rdma) {
    for (const RdmaPort& port : rdma.ports) {
      if (!out.empty()) out += ' ';
      if (rdma.ports.size() > 1) out += std::to_string(port.number) + ":";
      out += port.state;
    }
  }
  return or_dash(out);
}

Row make_row(const PciFunction& function) {
  const std::string pf =
      function.pf ? (function.pf_name.empty() ? function.pf->text() : function.pf_name) : "";
  return {function.id.text(),
          or_dash(pf),
          function.vf_index < 0 ? "-" : std::to_string(function.vf_index),
          or_dash(function.driver.name()),
          netdev_text(function),
          rdma_text(function),
          port_text(function),
          or_dash(function.link_type),
          function.numa_node ? std::to_string(*function.numa_node) : "-"};
}

std::string count(size_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string footer(const Report& report) {
  std::string out;
  for (const Pool& pool : report.pools.pools) {
    out += pool.resource() + ": " + count(pool.devices.size(), "device") + "\n";
  }
  out += "in no pool: " + count(report.pools.left_out.size(), "function") + "\n";
  out += "RDMA network namespace mode: ";
  if (!report.inventory.rdma_netns_mode) {
    out += "not known (RDMA is not loaded)\n";
  } else {
    out += *report.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive ? "exclusive\n" : "shared\n";
  }
  for (const std::string& warning : report.warnings) out += "warning: " + escaped(warning) + "\n";
  return out;
}

// Each PF with its VFs and sub-functions behind it, in the order of their addresses.
std::vector<const PciFunction*> as_tree(const Inventory& inventory) {
  std::map<PciAddress, std::vector<const PciFunction*>> children;
  for (const PciFunction& function : inventory.functions) {
    if (!function.pf) children.try_emplace(function.address);
  }
  std::vector<const PciFunction*> tops;
  for (const PciFunction& function : inventory.functions) {
    const auto parent = function.pf ? children.find(*function.pf) : children.end();
    (parent == children.end() ? tops : parent->second).push_back(&function);
  }
  std::vector<const PciFunction*> out;
  for (const PciFunction* top : tops) {
    out.push_back(top);
    const auto below = top->pf ? children.end() : children.find(top->address);
    if (below != children.end()) out.insert(out.end(), below->second.begin(), below->second.end());
  }
  return out;
}

void add_rows(const PciFunction& function, const Outcome& outcome, const TableOptions& options,
              std::vector<Row>& rows) {
  Row row = make_row(function);
  if (function.pf) row.front().insert(0, "  ");
  const bool none = outcome.pool.empty();
  std::string pool = none ? "none" : outcome.pool;
  size_t said = 0;
  if (!outcome.reasons.empty() && (none || !options.all_reasons)) {
    pool += ": " + outcome.reasons.front();
    said = 1;
  }
  const size_t left = outcome.reasons.size() - said;
  if (left > 0 && !options.all_reasons) pool += " (and " + std::to_string(left) + " more: -o wide)";
  row.push_back(std::move(pool));
  rows.push_back(std::move(row));
  if (!options.all_reasons) return;
  for (size_t i = said; i < outcome.reasons.size(); ++i) {
    Row further(rows.front().size());
    further.back() = "      " + outcome.reasons[i];  // below the first reason, behind "none: "
    rows.push_back(std::move(further));
  }
}

// Bytes for columns: names are ASCII nearly always, and a line that ends a little early says so too.
std::string cut(const std::string& text, size_t width) {
  if (width < 20) return text;
  std::string out;
  for (const std::string& line : split(text, "\n"))
    out += (line.size() <= width ? line : well_formed(line.substr(0, width - 3)) + "...") + "\n";
  return out;
}

}  // namespace

std::string render_table(const Report& report, const TableOptions& options) {
  const auto outcomes = find_outcomes(report.pools);
  std::vector<Row> rows = {
      {"ADDRESS", "PF", "VF", "DRIVER", "NETDEV", "RDMA", "PORT", "LINK", "NUMA", "POOL"}};
  for (const PciFunction* function : as_tree(report.inventory)) {
    const auto found = outcomes.find(function->id.text());
    add_rows(*function, found == outcomes.end() ? Outcome() : found->second, options, rows);
  }
  if (report.inventory.functions.empty()) return "There is no PCI network function.\n\n" + footer(report);
  return cut(align(rows), options.width) + "\n" + footer(report);
}

}  // namespace vfrail
