// PFs, VFs and their ports.
#include "common/errors/error_id.h"
#include "common/node/device_folder.h"
#include "common/node/port_state.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/admin/report/hardware.h"
#include "plugin/device/match/health.h"
#include "plugin/device/match/pools.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace vfrail::plugin {

namespace {

constexpr int64_t kManyCarrierChanges = 10;
// IB_MTU_4096 and the headers of RoCE v2 over IPv6.
constexpr uint32_t kMtuOfLargestPackets = 4200;

// What carries a pod's traffic: its own port, or that of its VFs.
bool serves_pods(const DeviceFacts& function) {
  return function.is_pf() && (function.rdma_capable || function.num_vfs > 0) && !function.manages_nvlink;
}

// As the health of devices has it, with the remedy of its id.
CheckResult as_result(Finding finding, const DeviceFacts& function, const Fault& fault) {
  return {finding, shown_device(function) + ": " + fault.text, std::string(row_of(id_of(fault.code)).remedy)};
}

// The devices of resources, and the PFs whose ports they use. No value: there is no configuration.
std::optional<std::set<std::string>> selected_ports(const CheckedNode& node) {
  if (node.config == nullptr) return std::nullopt;
  std::set<std::string> out;
  for (const Pool& pool : match(*node.config, node.inventory).pools) {
    for (const PoolDevice& device : pool.devices) {
      out.insert(device.id());
      if (device.facts.pf) out.insert(device.facts.pf->text());
    }
  }
  return out;
}

// A port that no resource selects harms no pod. Without a configuration nobody has said whether it is used:
// cards are delivered with more ports than cables.
Finding weighed(Finding finding, const DeviceFacts& function,
                const std::optional<std::set<std::string>>& selected) {
  if (!selected && !function.attached) return std::min(finding, Finding::advice);
  const bool harmless = selected && !selected->contains(function.id.text()) &&
                        !(function.pf && selected->contains(function.pf->text()));
  return harmless ? Finding::note : finding;
}

// Resources whose policy makes VFs without a GUID unhealthy.
std::set<std::string> wanting_guid(const CheckedNode& node) {
  std::set<std::string> out;
  if (node.config == nullptr) return out;
  for (const Pool& pool : match(*node.config, node.inventory).pools) {
    if (!pool.config.health.guid) continue;
    for (const PoolDevice& device : pool.devices) out.insert(device.id());
  }
  return out;
}

// A free VF gets its GUID when a pod has it, by the network's `guid` or by the agent that owns GUIDs.
bool waits_for_guid(const DeviceFacts& function) {
  return !function.attached && !guid_fault(function).empty();
}

Result<CheckResults> check_guids(const CheckedNode& node) {
  const auto wanting = wanting_guid(node);
  CheckResults out;
  for (const DeviceFacts& function : node.inventory.functions) {
    const Fault fault = guid_fault(function);
    if (fault.empty()) continue;
    const bool needed = !waits_for_guid(function) || wanting.contains(function.id.text());
    out.push_back(as_result(needed ? Finding::fault : Finding::advice, function, fault));
  }
  return out;
}

Result<CheckResults> check_carrier(const CheckedNode& node) {
  const auto selected = selected_ports(node);
  CheckResults out;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (!serves_pods(function) || function.netdevs.empty()) continue;
    const Fault fault = carrier_fault(function);
    const auto advice = weighed(Finding::advice, function, selected);
    // A PF that is down and has no VFs is one that nobody uses yet.
    if (fault.code == FaultCode::admin_down && function.num_vfs > 0)
      out.push_back(as_result(advice, function, fault));
    if (fault.code == FaultCode::no_carrier)
      out.push_back({weighed(Finding::fault, function, selected), shown_device(function) + ": " + fault.text,
                     "ethtool " + function.netdevs[0].name +
                         " on the node shows the link; a port that no resource uses may stay as it is"});
    const std::string& name = function.netdevs[0].name;
    const auto changes = TRY(node.sys.number("sys/class/net/" + name + "/carrier_changes"));
    if (changes.value_or(0) > kManyCarrierChanges)
      out.push_back(
          {advice,
           shown_device(function) + ": its carrier changed " + std::to_string(*changes) + " times since boot",
           "check the cable, the transceiver and the switch's port"});
  }
  return out;
}

// Devices that stay in the host, whose own interfaces RDMA over Ethernet needs.
std::set<std::string> shared_devices(const CheckedNode& node) {
  std::set<std::string> out;
  if (node.config == nullptr) return out;
  for (const Pool& pool : match(*node.config, node.inventory).pools) {
    if (!shares(pool.config)) continue;
    for (const PoolDevice& device : pool.devices) out.insert(device.id());
  }
  return out;
}

Result<CheckResults> check_rdma_ports(const CheckedNode& node) {
  const auto selected = selected_ports(node);
  const auto shared = shared_devices(node);
  CheckResults out;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (function.manages_nvlink || waits_for_guid(function)) continue;
    const bool is_shared = shared.contains(function.id.text());
    // The port of a VF or a sub-function is down with its PF's, and that is the PF's fault.
    const auto& below = function.port.rdma;
    const bool pf_down = function.pf && std::any_of(below.begin(), below.end(), [](const RdmaPort& port) {
                           return port.state != "ACTIVE";
                         });
    if (pf_down) continue;
    for (const RdmaFacts& rdma : function.rdma) {
      for (const RdmaPort& port : rdma.ports) {
        if (port.state == "ACTIVE" || port.state.empty()) continue;
        // The carrier's check has it.
        if (port.link_layer == "Ethernet" && serves_pods(function) && !function.netdevs.empty() &&
            carrier_fault(function).code == FaultCode::no_carrier)
          continue;
        // As that of a free VF.
        if (port.link_layer == "Ethernet" && is_set_down(function) && !is_shared) continue;
        out.push_back({weighed(Finding::fault, function, selected),
                       shown_device(function) + ": port " + std::to_string(port.number) + " of " + rdma.name +
                           " is " + shown_state(port),
                       own_port_remedy(port, function)});
      }
    }
  }
  return out;
}

Result<CheckResults> check_rates(const CheckedNode& node) {
  struct Port {
    std::string name;
    std::string model;
    std::string text;
  };
  std::vector<Port> ports;
  std::map<std::string, uint32_t> best;  // Mb/s, by model
  for (const DeviceFacts& function : node.inventory.functions) {
    if (!function.is_pf()) continue;
    for (const RdmaFacts& rdma : function.rdma) {
      for (const RdmaPort& port : rdma.ports) {
        if (port.state != "ACTIVE") continue;
        const std::string text = TRY(
            read_port_rate(DeviceFolder(node.sys, function.id), rdma_port_folder(rdma.name, port.number)));
        if (text.empty()) continue;
        const std::string model = function.vendor + ":" + function.device + port.link_layer;
        ports.push_back({shown_device(function), model, text});
        best[model] = std::max(best[model], rate_mbps(text).value_or(0));
      }
    }
  }
  CheckResults out;
  for (const Port& port : ports) {
    if (rate_mbps(port.text).value_or(0) < best[port.model])
      out.push_back({Finding::advice,
                     port.name + " runs at " + port.text + ", another of this model here is faster",
                     "check the cable and the switch's port"});
  }
  return out;
}

Result<CheckResults> check_host_use(const CheckedNode& node) {
  CheckResults out;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (function.rdma.empty()) continue;
    std::vector<std::string> facts;
    for (const HostUseFact& fact : function.host_use) facts.push_back(fact.what);
    if (!facts.empty())
      out.push_back(
          {Finding::note, shown_device(function) + " has RDMA and is the host's: " + joined(facts, "; ")});
  }
  return out;
}

Result<CheckResults> check_nvlink(const CheckedNode& node) {
  std::vector<std::string> found;
  std::vector<std::string> unread;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (function.manages_nvlink) found.push_back(shown_device(function));
    if (!function.nvlink_unknown.empty()) unread.push_back(function.id.text());
  }
  if (found.empty()) {
    if (unread.empty()) return CheckResults();
    return CheckResults{{Finding::unknown, "whether " + first_few(unread) +
                                               " manage NVLink is in their vital product data, which root "
                                               "alone reads"}};
  }
  return CheckResults{
      {Finding::note, joined(found) + ": they manage NVLink and lead to no network; no pool takes them"}};
}

Result<CheckResults> check_mtu(const CheckedNode& node) {
  CheckResults out;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (!serves_pods(function) || function.transport() != Transport::roce || function.netdevs.empty())
      continue;
    const uint32_t mtu = function.netdevs[0].mtu;
    if (mtu == 0 || mtu >= kMtuOfLargestPackets) continue;  // 0: not known
    out.push_back({Finding::advice,
                   shown_device(function) + " has MTU " + std::to_string(mtu) +
                       ": RoCE sends the largest of 256, 512, 1024, 2048 and 4096 bytes that fits",
                   "MTU 4200 or more, 9000 as a rule, on the PF, its VFs, the switches and all other nodes"});
  }
  return out;
}

Result<CheckResults> check_devices(const CheckedNode& node) {
  const char* remedy = "run /opt/cni/bin/vfrail sweep; rebinding the driver creates a new interface";
  CheckResults out;
  for (const UnreadDevice& device : node.inventory.unread)
    out.push_back({Finding::fault, device.id + " cannot be read: " + device.reason, "see the kernel's log"});
  for (const DeviceFacts& function : node.inventory.functions) {
    if (!function.unclean.empty())
      out.push_back({Finding::fault, shown_device(function) + ": " + function.unclean, remedy});
  }
  if (!node.inventory.unclean_unread.empty())
    out.push_back({Finding::unknown, node.inventory.unclean_unread});
  return out;
}

Result<CheckResults> check_firmware(const CheckedNode& node) {
  CheckResults out;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (const Fault fault = devlink_fault(function); function.is_pf() && !fault.empty())
      out.push_back(as_result(Finding::fault, function, fault));
  }
  if (out.empty() && !node.inventory.asked_devlink)
    return CheckResults{
        {Finding::unknown,
         "devlink was not asked for health reporters: this kernel has none, or this is not the "
         "host (vfrail doctor --root / there)"}};
  return out;
}

}  // namespace

const NodeChecks& port_checks() {
  static const NodeChecks kChecks = {
      {"VF-N08", "guids", "no VF on InfiniBand lacks a GUID", check_guids, lacks_infiniband},
      {"VF-N09", "carrier", "every port for pods has carrier", check_carrier, lacks_ports},
      {"VF-N10", "rdma-ports", "every RDMA port is active", check_rdma_ports, lacks_rdma},
      {"VF-N11", "rates", "ports of one model have one rate", check_rates, lacks_rdma},
      {"VF-N14", "host-use", "no RDMA device is the host's own", check_host_use, lacks_rdma},
      {"VF-N15", "nvlink", "no device for the management of NVLink", check_nvlink, lacks_rdma},
      {"VF-N16", "mtu", "RoCE can send its largest packets", check_mtu, lacks_roce},
      {"VF-N19", "firmware", "no health reporter is in error", check_firmware, lacks_ports},
      {"VF-N33", "devices", "every device can be read, none keeps anything of a pod", check_devices},
  };
  return kChecks;
}

}  // namespace vfrail::plugin
