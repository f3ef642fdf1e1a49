#include "plugin/report.h"
#include "plugin/table.h"

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
      if (!device.fault.empty()) outcome.reasons.push_back("unhealthy: " + device.fault);
    }
  }
  for (const LeftOut& left : pools.left_out) out[left.id].reasons = left.reasons;
  return out;
}

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

// The port's own interface and how many more: a PF in switchdev mode has one for each of its VFs.
std::string netdev_text(const Function& function) {
  if (function.netdevs.empty()) return function.away() ? "(in a pod)" : "-";
  const size_t more = function.netdevs.size() - 1;
  return function.netdevs.front().name + (more == 0 ? "" : " +" + std::to_string(more));
}

std::string rdma_text(const Function& function) {
  std::string out;
  for (const RdmaFacts& rdma : function.rdma) out += (out.empty() ? "" : ",") + rdma.name;
  if (out.empty() && function.rdma_capable) return "(in a pod)";
  return or_dash(out);
}

std::string port_text(const Function& function) {
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

Row make_row(const Function& function) {
  const std::string pf =
      function.pf ? (function.pf_name.empty() ? function.pf->text() : function.pf_name) : "";
  return {function.id().text(),
          or_dash(pf),
          function.vf_index < 0 ? "-" : std::to_string(function.vf_index),
          or_dash(function.driver),
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
  for (const std::string& warning : report.warnings) out += "warning: " + warning + "\n";
  return out;
}

}  // namespace

std::string render_table(const Report& report) {
  const auto outcomes = find_outcomes(report.pools);
  std::vector<Row> rows = {
      {"ADDRESS", "PF", "VF", "DRIVER", "NETDEV", "RDMA", "PORT", "LINK", "NUMA", "POOL"}};
  for (const Function& function : report.inventory.functions) {
    Row row = make_row(function);
    const auto found = outcomes.find(function.id().text());
    const Outcome outcome = found == outcomes.end() ? Outcome() : found->second;
    const bool none = outcome.pool.empty();
    row.push_back(none ? (outcome.reasons.empty() ? "none" : "none: " + outcome.reasons.front())
                       : outcome.pool);
    rows.push_back(std::move(row));
    for (size_t i = none ? 1 : 0; i < outcome.reasons.size(); ++i) {
      Row further(rows.front().size());
      further.back() = "      " + outcome.reasons[i];  // below the first reason, behind "none: "
      rows.push_back(std::move(further));
    }
  }
  if (report.inventory.functions.empty()) return "There is no PCI network function.\n\n" + footer(report);
  return align(rows) + "\n" + footer(report);
}

}  // namespace vfrail
