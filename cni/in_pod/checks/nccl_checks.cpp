// What NCCL will choose here, and who says so.
#include "cni/in_pod/checks/pod_check.h"
#include "cni/in_pod/facts/nccl_choice.h"
#include "common/text.h"

#include <algorithm>
#include <strings.h>

namespace vfrail::pod {

namespace {

constexpr const char* kHca = "NCCL_IB_HCA";
constexpr const char* kGidIndex = "NCCL_IB_GID_INDEX";
constexpr const char* kSocket = "NCCL_SOCKET_IFNAME";

std::vector<std::string> active_ports(const CheckedPod& pod) {
  std::vector<std::string> out;
  for (const Rail& rail : pod.own_rails()) {
    for (const RailPort& port : rail.ports) {
      if (port.is_active()) out.push_back(rail.name + ":" + std::to_string(port.number));
    }
  }
  return out;
}

void check_transport(const NcclSettings& settings, CheckResults& out) {
  if (settings.number("NCCL_IB_DISABLE", 0) != 0)
    out.push_back(
        {Finding::fault, settings.with_source("NCCL_IB_DISABLE") + ": NCCL uses TCP alone", "remove it"});
  // strcasecmp() in NCCL's net.cc.
  if (::strcasecmp(settings.text("NCCL_NET").c_str(), "Socket") == 0)
    out.push_back({Finding::fault, settings.with_source("NCCL_NET") + ": NCCL uses TCP alone", "remove it"});
}

void check_devices(const CheckedPod& pod, const NcclSettings& settings, const std::vector<NcclRail>& chosen,
                   CheckResults& out) {
  const auto active = active_ports(pod);
  if (settings.text(kHca).empty() || active.empty()) return;
  const std::string right = std::string(kHca) + "==" + joined(active, ",") + ", or remove it";
  if (chosen.empty()) {
    out.push_back({Finding::fault,
                   settings.with_source(kHca) + " names no device of this pod, which has " + joined(active) +
                       ": NCCL uses TCP",
                   right});
    return;
  }
  std::vector<std::string> left_out;
  for (const std::string& name : active) {
    if (std::none_of(chosen.begin(), chosen.end(), [&](const NcclRail& one) { return one.name() == name; }))
      left_out.push_back(name);
  }
  if (!left_out.empty())
    out.push_back(
        {Finding::advice, settings.with_source(kHca) + " leaves out " + first_few(left_out), right});
}

std::optional<IpAddress> routable(const RailPort& port) {
  for (const Gid& gid : port.gids) {
    if (!is_link_local(gid.address)) return gid.address;
  }
  return std::nullopt;
}

// NCCL's own search takes IPv4 unless a variable says otherwise, and ends at entry 0 where there is none.
void check_searched_gid(const NcclRail& rail, CheckResults& out) {
  const Gid* gid = rail.port.find(rail.gid_index);
  if (gid != nullptr && !is_link_local(gid->address)) return;
  const auto other = routable(rail.port);
  const bool v6 = other && !ipv4_of(*other);
  out.push_back(
      {Finding::fault,
       rail.name() + ": NCCL's search ends at GID " + std::to_string(rail.gid_index) +
           (gid == nullptr ? ", which is empty" : ", " + gid->address.text() + ", which no router forwards"),
       v6 ? "NCCL_IB_ADDR_FAMILY=AF_INET6: the rail has IPv6 addresses alone"
          : "an IPv4 address for the rail's interface; remove NCCL_IB_ADDR_FAMILY and "
            "NCCL_IB_ADDR_RANGE if they are set"});
}

void check_fixed_gid(const NcclRail& rail, const NcclSettings& settings, CheckResults& out) {
  const Gid* gid = rail.port.find(rail.gid_index);
  const uint32_t right = choose_gid_index(rail.port, NcclSettings());
  const std::string remedy = "remove it (NCCL from 2.21 on finds " + std::to_string(right) + "), or " +
                             kGidIndex + "=" + std::to_string(right);
  const std::string what = settings.with_source(kGidIndex);
  if (gid == nullptr)
    out.push_back({Finding::fault, what + ": that entry of " + rail.name() + " is empty", remedy});
  else if (is_link_local(gid->address))
    out.push_back({Finding::fault,
                   what + ": that entry of " + rail.name() + " is link-local, which no router forwards",
                   remedy});
  else if (gid->roce_version == 1)
    out.push_back({Finding::advice, what + ": that entry of " + rail.name() + " is of RoCE v1", remedy});
}

void check_socket(const CheckedPod& pod, const NcclSettings& settings, CheckResults& out) {
  if (!pod.network || settings.text(kSocket).size() < 2 || choose_socket_interface(*pod.network, settings))
    return;
  std::vector<std::string> names;
  for (const PodLink& link : pod.network->links) {
    if (!link.addresses.empty() && link.name != "lo") names.push_back(link.name);
  }
  out.push_back(
      {Finding::fault,
       settings.with_source(kSocket) + " names no interface with an address: NCCL fails; there are " +
           joined(names),
       names.empty() ? "remove it" : std::string(kSocket) + "==" + names.front() + ", or remove it"});
}

// ncclIbConnect() exchanges the numbers of queue pairs by its own socket.
void check_iwarp(const NcclRail& rail, CheckResults& out) {
  out.push_back(
      {Finding::fault,
       "NCCL takes " + rail.name() +
           ", which is iWARP: its queue pairs are connected by the RDMA CM only, which NCCL does not "
           "use, so its connections fail",
       "NCCL_IB_HCA=^" + rail.rail.name + ", or NCCL_IB_DISABLE=1 if there is no other device"});
}

// What it comes to, for people who ask why.
std::string choice_text(const CheckedPod& pod, const NcclSettings& settings,
                        const std::vector<NcclRail>& chosen) {
  std::vector<std::string> rails;
  for (const NcclRail& one : chosen)
    rails.push_back(one.name() + (one.port.is_ethernet() ? " GID " + std::to_string(one.gid_index) : ""));
  std::string out = "NCCL takes " + joined(rails);
  if (pod.network) out += "; sockets: " + choose_socket_interface(*pod.network, settings).value_or("none");
  for (const char* name : {kHca, kGidIndex, kSocket}) {
    if (settings.find(name) != nullptr) out += "; " + settings.with_source(name);
  }
  return out;
}

Result<CheckResults> check_nccl(const CheckedPod& pod) {
  const auto settings = TRY(pod.nccl);
  const auto rails = TRY(pod.rails);
  const auto chosen = choose_rails(rails, settings);
  CheckResults out;
  check_transport(settings, out);
  check_devices(pod, settings, chosen, out);
  for (const NcclRail& rail : chosen) {
    if (rail.port.transport() == Transport::iwarp) check_iwarp(rail, out);
    if (!rail.port.is_roce()) continue;
    if (settings.number(kGidIndex, -1) < 0)
      check_searched_gid(rail, out);
    else
      check_fixed_gid(rail, settings, out);
  }
  check_socket(pod, settings, out);
  if (!settings.doubt().empty())
    out.push_back(
        {Finding::note, settings.doubt(), "one file for both: /etc/nccl.conf, or set NCCL_CONF_FILE"});
  if (pod.own_rails().empty()) return out;
  if (out.empty() && chosen.empty())
    return CheckResults{{Finding::fault, "no port is ACTIVE and usable, so NCCL uses TCP",
                         "VF-P06 and VF-P02 say what is the matter with each"}};
  if (out.empty()) out.push_back({Finding::good, choice_text(pod, settings, chosen)});
  return out;
}

Result<CheckResults> check_default_route(const CheckedPod& pod) {
  const auto network = TRY(pod.network);
  CheckResults out;
  for (const Route& route : network.routes) {
    const PodLink* link = network.find(route.link);
    if (route.destination.prefix != 0 || link == nullptr) continue;
    for (const Rail& rail : pod.own_rails()) {
      const bool ours = std::find(rail.netdevs.begin(), rail.netdevs.end(), link->name) != rail.netdevs.end();
      if (ours)
        out.push_back({Finding::advice,
                       "the default route leads over " + shown_rail(rail) +
                           ": Services and DNS of the cluster may be unreachable",
                       "remove gateway and default routes from the ipam section of the network; " +
                           std::string(kSocket) + " names the interface for NCCL's bootstrap"});
    }
  }
  return out;
}

std::string place(const NcclLogLine& line) {
  return "line " + std::to_string(line.number) + ", \"" + line.text + "\": ";
}

// What NCCL warns of is mostly why it ends; of an unknown warning that is not certain.
void check_logged_failures(const NcclLog& log, CheckResults& out) {
  for (const SeenSymptom& seen : log.symptoms.seen())
    out.push_back({Finding::fault, place({seen.line, seen.text}) + std::string(seen.symptom->cause),
                   std::string(seen.symptom->remedy) + " See " + joined(split(seen.symptom->ids, " "))});
  if (log.warning)
    out.push_back(
        {Finding::advice,
         place(*log.warning) + counted(log.warnings, "warning") + " of NCCL of which vfrail knows no cause",
         "the first warning of the process that ended first has the cause; vfrail-check in the "
         "container of that process checks what NCCL needs"});
}

void check_logged_devices(const CheckedPod& pod, const NcclLog& log, CheckResults& out) {
  const size_t rails = active_ports(pod).size();
  if (!log.fewest_devices || log.fewest_devices->names.size() >= rails) return;
  const auto& names = log.fewest_devices->names;
  out.push_back({Finding::advice,
                 place(log.fewest_devices->line) + "NCCL takes " + counted(names.size(), "device") +
                     ", and this pod has " + counted(rails, "rail"),
                 "VF-P09 says what NCCL takes here, and by which setting"});
}

Result<CheckResults> check_nccl_log(const CheckedPod& pod) {
  if (!pod.nccl_log) return Error{Errc::unsupported, 0, "vfrail-check --nccl-log FILE"};
  const NcclLog log = TRY(*pod.nccl_log);
  if (log.lines == 0 && log.symptoms.seen().empty())
    return CheckResults{{Finding::unknown, "the log has no line of NCCL: run the job with NCCL_DEBUG=INFO"}};
  CheckResults out;
  check_logged_failures(log, out);
  if (log.without_gpu_rdma)
    out.push_back(
        {Finding::advice,
         place(*log.without_gpu_rdma) + std::to_string(log.channels_without_gpu_rdma) + " of " +
             counted(log.channels, "channel") + " over RDMA without GPUDirect (GDRDMA): through host memory",
         "nvidia_peermem on the node, or dma-buf (open kernel modules of the GPU's driver); a GPU and a rail "
         "near each other, or NCCL_NET_GDR_LEVEL"});
  check_logged_devices(pod, log, out);
  if (log.plugin)
    out.push_back({Finding::note, place(*log.plugin) + "the network is that of the plugin " +
                                      log.plugin_name +
                                      ", whose devices and settings are its own: what is said here of NCCL's "
                                      "own network does not hold for it"});
  if (out.empty() && !log.fewest_devices && log.channels == 0)
    return CheckResults{{Finding::unknown, "the log does not say which network NCCL takes"}};
  return out;
}

}  // namespace

const PodChecks& nccl_log_checks() {
  static const PodChecks kChecks = {
      {kNcclLogCheck, "nccl-log", "by its log NCCL has taken RDMA, with all rails and GPUDirect",
       check_nccl_log},
  };
  return kChecks;
}

const PodChecks& nccl_checks() {
  static const PodChecks kChecks = {
      {"VF-P09", "nccl", "NCCL takes all rails, each with a GID that can be routed", check_nccl, lacks_rails},
      {"VF-P17", "default-route", "the default route is not over a rail", check_default_route, lacks_rails},
  };
  return kChecks;
}

}  // namespace vfrail::pod
