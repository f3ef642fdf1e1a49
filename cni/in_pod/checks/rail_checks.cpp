// The rails: their ports, interfaces, GIDs and MTUs, and where they are plugged in.
#include "cni/in_pod/checks/pod_check.h"
#include "common/node/rdma_counters.h"
#include "common/text.h"
#include "common/traffic/traffic.h"

#include <algorithm>
#include <map>
#include <set>

namespace vfrail::pod {

namespace {

// A unit of a shared resource has every device of its pool, those without a link too.
bool must_work(const Rail& rail, const CheckedPod& pod) {
  const auto rails = pod.own_rails();
  const auto works = [](const Rail& one) {
    return std::any_of(one.ports.begin(), one.ports.end(),
                       [](const RailPort& port) { return port.is_active(); });
  };
  return pod.attachment_of(rail) != nullptr || std::none_of(rails.begin(), rails.end(), works);
}

Result<CheckResults> check_port_states(const CheckedPod& pod) {
  CheckResults out;
  for (const Rail& rail : pod.own_rails()) {
    const bool needed = must_work(rail, pod);
    for (const RailPort& port : rail.ports) {
      if (port.is_active()) continue;
      const bool waits = port.state == "INIT" || port.state == "ARMED";
      out.push_back({needed ? Finding::fault : Finding::advice,
                     shown_rail(rail) + ": port " + std::to_string(port.number) + " is " + port.state +
                         (port.physical.empty() ? "" : ", " + port.physical) +
                         ": NCCL leaves it out without a message",
                     waits ? "no subnet manager has configured the port: check that one runs in the fabric"
                           : "set its interface up; on the node: vfrail doctor, which shows the PF's port"});
    }
  }
  return out;
}

Result<CheckResults> check_interfaces(const CheckedPod& pod) {
  CheckResults out;
  for (const Rail& rail : pod.own_rails()) {
    const auto has = [&](Transport transport) {
      return std::any_of(rail.ports.begin(), rail.ports.end(),
                         [&](const RailPort& port) { return port.transport() == transport; });
    };
    const bool roce = has(Transport::roce);
    if ((roce || has(Transport::iwarp)) && rail.netdevs.empty())
      out.push_back({Finding::fault,
                     rail.name + " has no interface in this pod: " +
                         (roce ? "without one it has no GID, and RoCE and the RDMA CM do not work"
                               : "iWARP is TCP, and connects by the addresses of one"),
                     "attach the device by a network (the pod's annotation); with hostNetwork, or a resource "
                     "without a network, interface and RDMA device stay in different namespaces"});
  }
  return out;
}

// The interfaces whose addresses have GIDs of the port: those of the device, and what stands on them, such as
// a bond or VLANs of the host.
std::set<std::string> interfaces_of(const Rail& rail, const RailPort& port) {
  std::set<std::string> out(rail.netdevs.begin(), rail.netdevs.end());
  for (const Gid& gid : port.gids) out.insert(gid.netdev);
  return out;
}

// The addresses of a port that a peer could reach.
std::vector<IpAddress> addresses_of(const Rail& rail, const RailPort& port, const PodNetwork& network) {
  std::vector<IpAddress> out;
  for (const std::string& name : interfaces_of(rail, port)) {
    const PodLink* link = network.find(name);
    if (link == nullptr) continue;
    for (const IpAddress& address : link->addresses) {
      if (!is_link_local(address)) out.push_back(address);
    }
  }
  return out;
}

std::string entry_text(const Gid& gid) {
  const auto v4 = ipv4_of(gid.address);
  return std::to_string(gid.index) + " (" + (v4 ? v4->text() : gid.address.text()) + ", RoCE v" +
         std::to_string(gid.roce_version) + ")";
}

// "; before it is entry 2 (fd00::8, RoCE v1)": an address that got its entries first. Default GIDs, which are
// equal to entry 0, always do.
std::string moved_by(const RailPort& port, const Gid& gid) {
  const Gid* first = port.find(0);
  for (const Gid& before : port.gids) {
    const bool is_default = first != nullptr && before.address == first->address;
    if (before.index < gid.index && !is_default && before.address != gid.address)
      return "; before it is entry " + entry_text(before);
  }
  return {};
}

void check_gids_of(const Rail& rail, const RailPort& port, const CheckedPod& pod, CheckResults& out) {
  const auto addresses = addresses_of(rail, port, *pod.network);
  if (addresses.empty())
    out.push_back({Finding::fault, shown_rail(rail) + " has no address, so no peer can reach it",
                   "give the network an ipam section, and read the events of the pod"});
  if (!port.has_gids_of_addresses()) return;
  for (const IpAddress& address : addresses) {
    if (port.find(address, 2) == nullptr)
      out.push_back({Finding::fault, shown_rail(rail) + " has no GID of RoCE v2 for " + address.text(),
                     "the kernel adds the GID a moment after the address: run vfrail-check again; if it "
                     "stays away, the driver has no RoCE v2"});
  }
  const DescribedInterface* attached = pod.attachment_of(rail);
  const auto recorded = attached == nullptr ? std::nullopt : first_for_gid(attached->addresses);
  if (!recorded || !attached->gid_index) return;
  const Gid* now = port.find(*recorded, 2);
  if (now != nullptr && now->index != *attached->gid_index)
    out.push_back({Finding::advice,
                   shown_rail(rail) + ": the GID of " + recorded->text() + " is entry " +
                       std::to_string(now->index) + ", and was " + std::to_string(*attached->gid_index) +
                       " when the pod was attached" + moved_by(port, *now),
                   "do not set NCCL_IB_GID_INDEX: NCCL from 2.21 on finds the entry by itself"});
}

Result<CheckResults> check_gids(const CheckedPod& pod) {
  TRY(pod.network);
  CheckResults out;
  for (const Rail& rail : pod.own_rails()) {
    for (const RailPort& port : rail.ports) {
      if (port.is_roce() && !rail.netdevs.empty()) check_gids_of(rail, port, pod, out);
    }
  }
  return out;
}

Result<CheckResults> check_mtus(const CheckedPod& pod) {
  CheckResults out;
  std::map<int64_t, std::vector<std::string>> by_mtu;
  for (const Rail& rail : pod.own_rails()) {
    if (rail.netdevs.empty()) continue;
    const auto mtu = TRY(pod.sys.number("sys/class/net/" + rail.netdevs.front() + "/mtu"));
    if (!mtu) continue;
    by_mtu[*mtu].push_back(shown_rail(rail));
    const DescribedInterface* attached = pod.attachment_of(rail);
    if (attached != nullptr && attached->mtu != 0 && *mtu != int64_t{attached->mtu})
      out.push_back({Finding::advice,
                     shown_rail(rail) + " has MTU " + std::to_string(*mtu) + ", and had " +
                         std::to_string(attached->mtu) + " when it was attached",
                     "find out what changes it in the pod"});
  }
  std::map<int64_t, std::vector<std::string>> by_active;
  for (const VerbsProbe& probe : pod.probes ? pod.probes->verbs : std::vector<VerbsProbe>()) {
    if (probe.active_mtu != 0) by_active[probe.active_mtu].push_back(probe.device);
  }
  for (const auto& [what, groups] : {std::pair("MTU", by_mtu), std::pair("RDMA MTU", by_active)}) {
    if (groups.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [mtu, names] : groups) parts.push_back(std::to_string(mtu) + ": " + first_few(names));
    out.push_back({Finding::advice, std::string("the rails differ in ") + what + ": " + joined(parts, "; "),
                   "the same \"mtu\" in every network: the smaller one counts between two peers"});
  }
  return out;
}

// NCCL_IB_MERGE_VFS, 1 by default: VFs of one PF are one card, and each counts with the full speed.
Result<CheckResults> check_physical_functions(const CheckedPod& pod) {
  std::map<std::string, std::vector<std::string>> by_pf;
  for (const Rail& rail : pod.own_rails()) {
    if (!rail.pf.empty()) by_pf[rail.pf].push_back(shown_rail(rail));
  }
  CheckResults out;
  for (const auto& [pf, names] : by_pf) {
    if (names.size() > 1)
      out.push_back({Finding::advice,
                     first_few(names) + " are VFs of one PF, " + pf + ": NCCL counts its bandwidth " +
                         std::to_string(names.size()) + " times",
                     "request devices of different PFs: a resource for each PF"});
  }
  return out;
}

// What an RDMA device has counted that should not be there.
struct CountedErrors {
  std::vector<std::string> names;  // "out_of_sequence 4"
  uint64_t errors = 0;
  uint64_t packets = 0;
  bool are_counted = false;
};

CountedErrors read_errors(const CheckedPod& pod, const Rail& rail) {
  CountedErrors out;
  for (const RdmaPortCounters& port :
       read_rdma_counters(DeviceFolder(pod.sys.at(rail.folder())), "", rail.name)) {
    for (const NamedCounter& counter : port.counters) {
      const auto kind = kind_of(counter.name);
      if (kind == Count::rdma_rx_packets || kind == Count::rdma_tx_packets) out.packets += counter.value;
      if (kind != Count::retransmissions && kind != Count::out_of_sequence && kind != Count::discards)
        continue;
      out.are_counted = true;
      out.errors += counter.value;
      if (counter.value > 0) out.names.push_back(counter.name + " " + std::to_string(counter.value));
    }
  }
  return out;
}

// The pod file has no counters of the time of the attachment, so these are all since the driver has the
// device.
Result<CheckResults> check_counters(const CheckedPod& pod) {
  constexpr uint64_t kPacketsOfError = 10'000;  // above one error for so many packets RDMA slows down
  CheckResults out;
  bool are_counted = false;
  for (const Rail& rail : pod.own_rails()) {
    const CountedErrors counted = read_errors(pod, rail);
    are_counted = are_counted || counted.are_counted;
    if (counted.errors == 0) continue;
    const bool many = counted.packets / kPacketsOfError < counted.errors;
    out.push_back({many ? Finding::advice : Finding::note,
                   shown_rail(rail) + " has counted " + joined(counted.names) + ", with " +
                       std::to_string(counted.packets) +
                       " packets since the driver was bound, earlier pods included",
                   "whether they grow: vfrail-check --top; then the fabric loses packets: PFC or ECN of the "
                   "switches, cables, MTU"});
  }
  if (!are_counted && !pod.own_rails().empty())
    return CheckResults{{Finding::unknown, "the drivers of the rails count no errors"}};
  return out;
}

// Both ends belong to it.
using CpuRange = std::pair<int64_t, int64_t>;

// "0-3,8", as the kernel prints a list of CPUs.
std::vector<CpuRange> parse_cpu_list(const std::string& list) {
  std::vector<CpuRange> out;
  for (const std::string& part : split(list, ",")) {
    const size_t dash = part.find('-');
    const int64_t first = std::atoll(part.c_str());
    out.emplace_back(first, dash == std::string::npos ? first : std::atoll(part.c_str() + dash + 1));
  }
  return out;
}

bool overlap(const std::string& one, const std::string& other) {
  const std::vector<CpuRange> others = parse_cpu_list(other);
  for (const CpuRange& range : parse_cpu_list(one)) {
    const auto meets = [&](const CpuRange& with) {
      return range.first <= with.second && with.first <= range.second;
    };
    if (std::any_of(others.begin(), others.end(), meets)) return true;
  }
  return false;
}

Result<CheckResults> check_numa_nodes(const CheckedPod& pod) {
  const std::string status = TRY(pod.sys.text("proc/self/status")).value_or("");
  const std::string cpus = proc_field(status, "Cpus_allowed_list");
  CheckResults out;
  for (const Rail& rail : pod.own_rails()) {
    if (!rail.numa_node || cpus.empty()) continue;
    const std::string file = "sys/devices/system/node/node" + std::to_string(*rail.numa_node) + "/cpulist";
    const auto near = TRY(pod.sys.text(file));
    if (near && !near->empty() && !overlap(*near, cpus))
      out.push_back({Finding::advice,
                     shown_rail(rail) + " is on NUMA node " + std::to_string(*rail.numa_node) +
                         ", and the CPUs of this container, " + cpus + ", are on others",
                     "topologyManagerPolicy single-numa-node or best-effort in kubelet's configuration, with "
                     "cpuManagerPolicy static"});
  }
  return out;
}

}  // namespace

const PodChecks& rail_checks() {
  static const PodChecks kChecks = {
      {"VF-P06", "ports", "every port is ACTIVE", check_port_states, lacks_rails},
      {"VF-P07", "interfaces", "the interface of every RoCE device is in this pod", check_interfaces,
       lacks_roce},
      {"VF-P08", "gids", "every rail has an address, with a GID of RoCE v2 where it was", check_gids,
       lacks_rails},
      {"VF-P15", "mtu", "all rails have one MTU, that of their networks", check_mtus, lacks_rails},
      {"VF-P20", "one-pf", "every rail is of a PF of its own", check_physical_functions, lacks_rail_pair},
      {"VF-P21", "counters", "the rails have counted no retransmissions, losses or damaged packets",
       check_counters, lacks_rails},
      {"VF-P22", "numa", "the container's CPUs are near its rails", check_numa_nodes, lacks_rails},
  };
  return kChecks;
}

}  // namespace vfrail::pod
