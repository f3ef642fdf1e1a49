// How the network carries RDMA: lossless priorities, congestion control, the host's ARP for several rails.
#include "common/node/device_folder.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/device/inventory/host_network.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace vfrail::plugin {

namespace {

constexpr const char* kIpv4Settings = "proc/sys/net/ipv4/conf/";

// The larger of the interface's and that of all counts (Documentation/networking/ip-sysctl.rst).
Result<std::optional<int64_t>> ipv4_setting(const SysRoot& sys, const std::string& interface,
                                            const std::string& name) {
  const auto own = TRY(sys.number(kIpv4Settings + interface + "/" + name));
  const auto all = TRY(sys.number(std::string(kIpv4Settings) + "all/" + name));
  if (!own || !all) return std::optional<int64_t>();
  return std::optional(std::max(*own, *all));
}

using RailNetworks = std::map<IpAddress, std::vector<std::string>>;

// The interfaces of RDMA devices in the host, by their networks.
RailNetworks networks_of_rails(const Inventory& inventory, const ConnectedNetworks& networks) {
  RailNetworks out;
  for (const DeviceFacts& function : inventory.functions) {
    if (function.rdma.empty()) continue;
    for (const std::string& name : function.netdev_names()) {
      const auto found = networks.find(name);
      if (found == networks.end()) continue;
      for (const IpAddress& network : found->second) {
        auto& rails = out[network];
        if (std::find(rails.begin(), rails.end(), name) == rails.end()) rails.push_back(name);
      }
    }
  }
  return out;
}

// Those that share no network with another rail. None of a rail that has no other beside it.
std::vector<std::string> rails_apart(const RailNetworks& networks) {
  std::set<std::string> all, together;
  for (const auto& [network, rails] : networks) {
    all.insert(rails.begin(), rails.end());
    if (rails.size() > 1) together.insert(rails.begin(), rails.end());
  }
  std::vector<std::string> out;
  if (all.size() < 2) return out;
  std::set_difference(all.begin(), all.end(), together.begin(), together.end(), std::back_inserter(out));
  return out;
}

// What of the settings is wrong for these rails; no value: not all of them can be read. The way back of a
// packet is by another rail only where both are in one network.
Result<std::optional<std::vector<std::string>>> wrong_for_rails(const SysRoot& sys,
                                                                const std::vector<std::string>& rails,
                                                                bool of_one_network) {
  struct Setting {
    const char* name;
    bool (*wrong)(int64_t);
    const char* effect;
  };
  static constexpr Setting kSettings[] = {
      {"arp_ignore", [](int64_t value) { return value == 0; },
       "any rail answers ARP for the addresses of the others, so packets arrive at the wrong port"},
      {"arp_announce", [](int64_t value) { return value < 2; },
       "ARP requests of a rail can have the address of another"},
      {"rp_filter", [](int64_t value) { return value == 1; },
       "packets are dropped where the way back is by another rail"}};
  std::vector<std::string> out;
  for (const Setting& setting : kSettings) {
    if (!of_one_network && std::string_view(setting.name) == "rp_filter") continue;
    std::vector<std::string> wrong;
    for (const std::string& rail : rails) {
      const auto value = TRY(ipv4_setting(sys, rail, setting.name));
      if (!value) return std::optional<std::vector<std::string>>();
      if (setting.wrong(*value)) wrong.push_back(rail + " " + std::to_string(*value));
    }
    if (!wrong.empty())
      out.push_back(std::string(setting.name) + " (" + first_few(wrong) + "): " + setting.effect);
  }
  return std::optional(std::move(out));
}

Result<CheckResults> check_shared_networks(const CheckedNode& node) {
  if (!has_rdma(node.inventory)) return CheckResults();
  const auto networks = TRY(read_connected_networks(node.sys));
  if (!networks)
    return CheckResults{
        {Finding::unknown, "the host's routes are not there: " + node.sys.path("proc/1/net/route")}};
  const bool of_host = TRY(node.kernel.exists(kOfHostAlone));
  const auto by_network = networks_of_rails(node.inventory, *networks);
  CheckResults out;
  const auto add = [&](const std::vector<std::string>& rails, const std::string& which, bool of_one_network,
                       const char* remedy) -> Result<> {
    const auto wrong = of_host ? TRY(wrong_for_rails(node.kernel, rails, of_one_network)) : std::nullopt;
    if (!wrong)
      out.push_back({Finding::unknown, which + ", and the host's settings for it are not in " +
                                           node.kernel.path(kIpv4Settings)});
    else if (!wrong->empty())
      out.push_back({Finding::advice, which + ": " + joined(*wrong, "; "), remedy});
    return {};
  };
  for (const auto& [network, rails] : by_network) {
    if (rails.size() < 2) continue;
    TRY(add(rails, first_few(rails) + " are in one network, " + network.cidr(), true,
            "a network for each rail; or sysctl net.ipv4.conf.all.arp_ignore=1, arp_announce=2 and "
            "rp_filter=2, and a routing table for the address of each rail (in pods: sourceRouting)"));
  }
  if (const auto apart = rails_apart(by_network); !apart.empty())
    TRY(add(apart, first_few(apart) + " have other rails in other networks, which one switch may join", false,
            "sysctl net.ipv4.conf.all.arp_ignore=1 and arp_announce=2 (in pods: sourceRouting), unless each "
            "rail has a switch or a VLAN of its own"));
  return out;
}

// PFs with RoCE, by their interface: PFC, trust and ECN are the port's, for all of its VFs.
std::vector<const DeviceFacts*> roce_ports(const Inventory& inventory) {
  std::vector<const DeviceFacts*> out;
  for (const DeviceFacts& function : inventory.functions) {
    // What was passed through to a virtual machine has its port elsewhere.
    const bool pf = function.is_pf() && !function.passed_through;
    if (pf && function.transport() == Transport::roce && !function.netdevs.empty()) out.push_back(&function);
  }
  return out;
}

// One result for all ports of which the same is found.
class ByFinding {
 public:
  void add(const CheckResult& result, const std::string& interface) {
    auto& [one, interfaces] = found_[result.text];
    one = result;
    interfaces.push_back(interface);
  }
  CheckResults take() {
    CheckResults out;
    for (auto& [text, found] : found_) {
      found.first.text = first_few(found.second) + ": " + text;
      out.push_back(std::move(found.first));
    }
    return out;
  }

 private:
  std::map<std::string, std::pair<CheckResult, std::vector<std::string>>> found_;
};

std::string priorities(uint8_t mask) {
  std::vector<std::string> out;
  for (unsigned priority = 0; priority < 8; ++priority) {
    if ((mask >> priority & 1U) != 0) out.push_back(std::to_string(priority));
  }
  return (out.size() == 1 ? "priority " : "priorities ") + joined(out);
}

// What an administrator set for all RoCE of a device: "Global tclass=106" of OFED's driver, or rdma_cm's
// default in configfs. No value: neither is there, or it is 0.
Result<std::optional<uint8_t>> default_traffic_class(const CheckedNode& node, const DeviceFacts& function) {
  const std::string& rdma = function.rdma.front().name;
  const DeviceFolder folder(node.sys, function.id);
  const std::string tclass = TRY(folder.text(std::string(kRdmaDevices) + "/" + rdma + "/tc/1/traffic_class"));
  const auto digits = tclass.find_first_of("0123456789");
  auto value = parse_decimal(digits == std::string::npos ? std::string_view()
                                                         : std::string_view(tclass).substr(digits));
  if (!value.value_or(0)) {
    const auto tos =
        TRY(node.kernel.number("sys/kernel/config/rdma_cm/" + rdma + "/ports/1/default_roce_tos"));
    if (tos && *tos > 0) value = static_cast<uint32_t>(*tos);
  }
  if (!value || *value == 0 || *value > 255) return std::optional<uint8_t>();
  return std::optional(static_cast<uint8_t>(*value));
}

constexpr const char* kSetQos =
    "dcb(8) or mlnx_qos: trust dscp, PFC for the priority of RoCE, as the switches have it";

// Of a port with lossless priorities: how its packets come to another one.
void check_trust(const DcbSettings& dcb, std::optional<uint8_t> tclass, const std::string& interface,
                 ByFinding& out) {
  const std::string lossless = priorities(*dcb.lossless);
  if (!dcb.dscp.empty() && tclass) {
    const auto dscp = static_cast<uint8_t>(*tclass >> 2);
    const auto entry = dcb.dscp.find(dscp);
    const uint8_t priority = entry == dcb.dscp.end() ? 0 : entry->second;
    if (!dcb.is_lossless(priority))
      out.add(
          {Finding::advice,
           "RoCE is sent with traffic class " + std::to_string(*tclass) + ", DSCP " + std::to_string(dscp) +
               ", which is priority " + std::to_string(priority) + "; lossless is " + lossless,
           kSetQos},
          interface);
  } else if (dcb.dscp.empty() && tclass) {
    out.add({Finding::advice,
             "RoCE is sent with traffic class " + std::to_string(*tclass) +
                 ", which the port ignores: it trusts the priority of VLANs; lossless is " + lossless,
             kSetQos},
            interface);
  } else if (dcb.dscp.empty() && !dcb.is_lossless(0)) {
    out.add({Finding::note,
             "it trusts the priority of VLANs, so packets without a VLAN have priority 0; lossless is " +
                 lossless},
            interface);
  }
}

// Packets of one traffic class wait for each other.
void check_classes(const DcbSettings& dcb, const std::string& interface, ByFinding& out) {
  if (!dcb.traffic_class) return;
  const auto& classes = *dcb.traffic_class;
  for (uint8_t priority = 0; priority < 8; ++priority) {
    for (uint8_t other = 0; other < 8 && dcb.is_lossless(priority); ++other) {
      if (dcb.is_lossless(other) || classes[other] != classes[priority]) continue;
      out.add({Finding::note, "lossless priority " + std::to_string(priority) + " shares traffic class " +
                                  std::to_string(classes[priority]) +
                                  " with priorities that are not: a pause "
                                  "of one stops the others"},
              interface);
      break;
    }
  }
}

Result<CheckResults> check_lossless(const CheckedNode& node) {
  const auto ports = roce_ports(node.inventory);
  if (ports.empty()) return CheckResults();
  if (!node.read_dcb)
    return CheckResults{{Finding::unknown,
                         "PFC and trust are asked by netlink, in the host's network namespace: "
                         "run vfrail doctor --root / on the node"}};
  ByFinding found;
  for (const DeviceFacts* port : ports) {
    const std::string& interface = port->netdevs.front().name;
    const auto dcb = TRY(node.read_dcb(interface));
    if (!dcb || !dcb->lossless) {
      found.add({Finding::unknown, "its driver does not say by DCB whether a priority is lossless"},
                interface);
      continue;
    }
    if (*dcb->lossless == 0) {
      found.add({Finding::note,
                 "no priority is lossless (PFC is off): where the network is congested, RoCE "
                 "depends on ECN (VF-N18) and on sending again"},
                interface);
      continue;
    }
    check_trust(*dcb, TRY(default_traffic_class(node, *port)), interface, found);
    check_classes(*dcb, interface, found);
  }
  return found.take();
}

// The priorities with ECN for one end, of those that the driver shows: "enable/3" is 1. OFED's and DOCA's
// mlx5 alone has it: cc_params in debugfs has the parameters, not whether they are in use.
struct EcnPriorities {
  uint8_t shown = 0;
  uint8_t on = 0;
};
Result<EcnPriorities> read_ecn(const DeviceFolder& folder, const std::string& end) {
  EcnPriorities out;
  for (unsigned priority = 0; priority < 8; ++priority) {
    const auto value = TRY(folder.number(end + "/enable/" + std::to_string(priority)));
    if (!value) continue;
    out.shown |= static_cast<uint8_t>(1U << priority);
    if (*value != 0) out.on |= static_cast<uint8_t>(1U << priority);
  }
  return out;
}

// The priorities that RoCE has as far as that is known: the lossless ones.
uint8_t used_priorities(const CheckedNode& node, const std::string& interface) {
  if (!node.read_dcb) return 0;
  const auto dcb = node.read_dcb(interface);  // its error is that of VF-N17
  return dcb && *dcb ? (*dcb)->lossless.value_or(0) : uint8_t{0};
}

Result<CheckResults> check_congestion_control(const CheckedNode& node) {
  ByFinding found;
  for (const DeviceFacts* port : roce_ports(node.inventory)) {
    const std::string& interface = port->netdevs.front().name;
    const DeviceFolder folder(node.sys, port->id);
    bool shown = false;
    for (const char* end : {"roce_np", "roce_rp"}) {
      const EcnPriorities ecn = TRY(read_ecn(folder, "net/" + interface + "/ecn/" + end));
      if (ecn.shown == 0) continue;
      shown = true;
      const auto off = static_cast<uint8_t>(used_priorities(node, interface) & ecn.shown & ~ecn.on);
      if (off == 0 && ecn.on != 0) continue;
      found.add(
          {Finding::advice,
           "congestion control (ECN) is off for " +
               (off != 0 ? "lossless " + priorities(off) : std::string("all priorities")) + " (" + end + ")",
           std::string("echo 1 > /sys/class/net/INTERFACE/ecn/") + end +
               "/enable/PRIORITY, on all nodes, and ECN marking on the switches"},
          interface);
    }
    if (!shown)
      found.add({Finding::unknown,
                 "the driver does not show whether ECN is on: in /sys/class/net/INTERFACE only that of "
                 "OFED and DOCA has ecn"},
                interface);
  }
  return found.take();
}

}  // namespace

const NodeChecks& transport_checks() {
  static const NodeChecks kChecks = {
      {"VF-N17", "lossless", "RoCE has a lossless priority and uses it, where its driver says",
       check_lossless, lacks_roce},
      {"VF-N18", "congestion-control", "RoCE ports slow down for ECN", check_congestion_control, lacks_roce},
      {"VF-N43", "rail-networks",
       "the rails of the host have a network each, and each answers ARP for its own addresses alone",
       check_shared_networks, lacks_rdma},
  };
  return kChecks;
}

}  // namespace vfrail::plugin
