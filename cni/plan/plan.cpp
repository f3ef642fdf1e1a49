#include "cni/plan/plan.h"

#include "cni/conf/result.h"
#include "common/errors/error_id.h"
#include "common/node/driver.h"
#include "common/node/gid_table.h"
#include "common/text.h"

#include <algorithm>
#include <array>

namespace vfrail::cni {

namespace {

LinkBefore before(const Link& link, const State& state) {
  LinkBefore out = LinkBefore::of(link);
  std::vector<int>& above = out.uppers.emplace();
  for (const Link& upper : state.uppers) above.push_back(upper.index);
  out.addresses = state.host_config.addresses;
  out.routes = state.host_config.routes;
  return out;
}

Result<> check_parts(RdmaPolicy rdma, const State& state) {
  const Device& device = state.device;
  if (device.netdevs.size() > 1) {
    return Error{Errc::invalid, 0,
                 device.key() + " has several interfaces on one port (" + joined(device.netdev_names()) +
                     "); name one with \"device\" in place of deviceID",
                 ErrorId::several_interfaces};
  }
  if (!device.driver.is_bound() && device.netdevs.empty() && device.rdma.empty()) {
    return Error{
        Errc::not_found, 0,
        device.key() + " has no driver bound, so it has neither an interface nor an RDMA device; bind one",
        ErrorId::no_driver};
  }
  if (state.allocated && !state.allocated->nodes.empty() && device.driver.is_user_space()) {
    return Error{Errc::busy, 0,
                 device.key() + " was allocated with the RDMA devices " + joined(state.allocated->nodes) +
                     ", and is bound to " + device.driver.name() +
                     " by now, so the pod would have no interface; bind its driver again, and delete the pod",
                 ErrorId::no_driver};
  }
  const std::string missing = missing_part(rdma, state);
  if (missing.empty()) return {};
  return Error{Errc::busy, 0,
               "the " + missing + " of " + device.key() + " (driver " + device.driver.name() +
                   ") is not in the host: it is in another network namespace, or its driver is just starting",
               ErrorId::device_not_in_host};
}

// What the kernel creates for each namespace, or does not let leave it (NETIF_F_NETNS_LOCAL): no device that
// a pod could have.
Result<> check_kind(const Link& link) {
  constexpr std::array kBound = {"bridge", "bond", "team", "vrf", "openvswitch", "batadv"};
  const bool bound = std::find(kBound.begin(), kBound.end(), link.kind) != kBound.end();
  if (!link.loopback() && link.name != "lo" && !bound) return {};
  return Error{Errc::invalid, 0,
               link.name + " is " + (bound ? "a " + link.kind : "the loopback interface") +
                   ", which the kernel does not move into another network namespace; name the interface of a "
                   "device",
               ErrorId::interface_not_movable};
}

Result<> check_mtu(const std::optional<uint32_t>& mtu, const Link& link) {
  const auto refuse = [&](const char* than, uint32_t limit) {
    return Error{Errc::invalid, 0,
                 "mtu: " + std::to_string(*mtu) + " is " + than + " " + link.name + " can do (" +
                     std::to_string(limit) + "); set " + std::to_string(limit) +
                     " or leave mtu out (the largest is the driver's, and can depend on the PF's MTU)",
                 ErrorId::mtu_out_of_range};
  };
  if (mtu && link.max_mtu != 0 && *mtu > link.max_mtu) return refuse("more than", link.max_mtu);
  if (mtu && *mtu < link.min_mtu) return refuse("less than", link.min_mtu);
  return {};
}

Result<> check_host_use(bool is_allowed, const State& state) {
  if (state.host_use.empty() || is_allowed) return {};
  return Error{Errc::denied, 0,
               state.device.key() + " is not given to a pod, because the host uses it: " + state.host_use +
                   "; name another device, take that from it, or set \"hostUse\": \"allow\" in the network",
               ErrorId::host_uses_device};
}

// The container would start without the device nodes, and nothing would say why.
Result<> check_cdi(const State& state) {
  if (state.no_cdi.empty()) return {};
  return Error{Errc::unsupported, 0,
               "the container gets the device nodes of " + state.device.key() + " by the CDI spec " +
                   state.allocated->cdi_spec +
                   ", which the container runtime does not read: " + state.no_cdi +
                   "; enable CDI there and restart the runtime, or give vfrail serve --use-cdi=false and "
                   "delete the pod",
               ErrorId::cdi_not_supported};
}

// AttachPlan::eui64. With a smaller MTU the interface has no IPv6, and the kernel refuses.
bool needs_eui64(const Link& link, const std::optional<uint32_t>& mtu, RdmaPolicy rdma,
                 const Device& device) {
  constexpr uint32_t kMinIpv6Mtu = 1280;  // RFC 8200
  const bool roce = device.is_on_ethernet() && rdma != RdmaPolicy::off;
  return roce && std::min(link.mtu, mtu.value_or(link.mtu)) >= kMinIpv6Mtu;
}

Result<> plan_link(const Request& request, const LinkConf& wanted, const LinkSettings& settings,
                   const State& state, AttachPlan& plan) {
  const Link& link = *state.link;
  TRY(check_kind(link));
  TRY(check_mtu(wanted.mtu, link));
  const auto mac = TRY(wanted_mac(request, wanted.mac));
  if (mac && mac->bytes.size() != link.mac.bytes.size()) {
    return Error{Errc::invalid, 0,
                 "mac: must have " + std::to_string(link.mac.bytes.size()) + " bytes, as the addresses of " +
                     link.name + " of " + state.device.key() + ", got " + mac->text(),
                 ErrorId::mac_invalid};
  }
  plan.link = before(link, state);
  // What is set already is not sent: some drivers refuse even a change to the same address.
  if (mac && *mac != link.mac) plan.mac = mac;
  if (wanted.mtu && *wanted.mtu != link.mtu) plan.mtu = wanted.mtu;
  TRY(settings.check_kernel_has(link));
  plan.settings = settings.differing_from(link);
  std::copy_if(link.altnames.begin(), link.altnames.end(), std::back_inserter(plan.own_altnames),
               [&](const std::string& name) { return name == request.ifname; });
  return {};
}

// NAME for the first, then NAME_1, NAME_2, ... Only the kernel knows whether a name is free: before Linux 7
// it is unique on a node, since then in a namespace.
std::vector<PlannedRdma> with_names_in_pod(const std::string& name, const std::vector<RdmaDevice>& devices) {
  std::vector<PlannedRdma> out;
  for (const RdmaDevice& device : devices) {
    const std::string number = out.empty() ? "" : "_" + std::to_string(out.size());
    out.push_back({device, name.empty() ? device.name : RdmaName(name + number)});
  }
  return out;
}

std::string rdma_setting(const RdmaConf& wanted, const std::string& type) {
  if (!wanted.name.empty()) return "rdmaName: " + wanted.name;
  if (wanted.isolation) return "rdmaIsolation: true";
  return type == "rdma" ? "type: rdma" : "rdma: require";
}

Result<> plan_rdma(const RdmaConf& wanted, const std::string& type, const State& state, AttachPlan& plan) {
  if (wanted.policy == RdmaPolicy::off) return {};
  if (state.device.rdma.empty()) {
    if (wanted.policy == RdmaPolicy::automatic && wanted.name.empty()) return {};
    const bool user_space = state.device.driver.is_user_space();
    if (user_space && wanted.isolation && wanted.name.empty()) {
      plan.warnings.push_back("rdmaIsolation: means nothing for " + state.device.key() +
                              ", which is bound to " + state.device.driver.name());
      return {};
    }
    return Error{Errc::not_found, 0,
                 rdma_setting(wanted, type) + ", but " + state.device.key() +
                     " has no RDMA device in the host" +
                     (user_space ? " (driver " + state.device.driver.name() + ")" : std::string()) +
                     "; load the card's RDMA driver, or leave the key out",
                 ErrorId::no_rdma_device};
  }
  if (auto lacks = missing_isolation(wanted, state.rdma_mode))
    return Error{Errc::unsupported, 0, std::move(*lacks), ErrorId::rdma_shared_mode};
  // Allocated by another device plugin: its container was given the present nodes.
  if (plan.cdi_spec.empty())
    plan.nodes = state.allocated ? state.allocated->nodes : state.device.rdma_nodes();
  std::sort(plan.nodes.begin(), plan.nodes.end());
  if (state.rdma_mode != RdmaNetnsMode::exclusive) return {};  // shared: the pod uses it through its nodes
  if (state.rdma.size() != state.device.rdma.size()) {
    return Error{Errc::busy, 0,
                 "RDMA device " + joined(state.device.rdma_names()) + " of " + state.device.key() +
                     " is not in the host's namespace: another pod still has it, or somebody has moved it",
                 ErrorId::device_not_in_host};
  }
  plan.rdma = with_names_in_pod(wanted.name, state.rdma);
  return {};
}

}  // namespace

bool is_mtu_in_vain(const std::optional<uint32_t>& mtu, const std::string& type, const Link* link) {
  return type == "sriov" && mtu && (link == nullptr || !check_mtu(mtu, *link).ok());
}

Result<std::optional<MacAddress>> wanted_mac(const Request& request, const MacKeys& keys) {
  if (keys.args) return keys.args;
  if (keys.runtime) return keys.runtime;
  const auto at = request.args.find("MAC");
  if (at == request.args.end() || at->second.empty()) return keys.network;
  const auto mac = MacAddress::parse(at->second);
  // All zero and multicast addresses (the lowest bit of the first byte) are never an interface's.
  if (!mac || mac->bytes.size() != 6 || mac->all_zero() || (mac->bytes[0] & 1) != 0) {
    return Error{Errc::invalid, 0,
                 "CNI_ARGS MAC: \"" + at->second.substr(0, 40) +
                     "\" is not a MAC address that an interface can have (02:00:00:00:00:01)",
                 ErrorId::mac_invalid};
  }
  return mac;
}

const char* isolation_key(const RdmaConf& wanted) {
  if (!wanted.name.empty()) return "rdmaName";
  return wanted.isolation ? "rdmaIsolation" : nullptr;
}

std::optional<std::string> missing_isolation(const RdmaConf& wanted, std::optional<RdmaNetnsMode> mode) {
  const char* key = isolation_key(wanted);
  if (key == nullptr || mode == RdmaNetnsMode::exclusive) return std::nullopt;
  return std::string(key) + ": it requires that the RDMA device move into the pod, but RDMA is " +
         (mode ? "in shared namespace mode" : "not loaded") + " on this node; boot it with " +
         "\"options ib_core netns_mode=0\" in /etc/modprobe.d, or take " + key + " out";
}

std::string missing_part(RdmaPolicy rdma, const State& state) {
  const Device& device = state.device;
  std::string missing = device.missing_part();
  if (state.netdev_in_pod) missing = device.misses_rdma() ? "RDMA device" : "";
  const bool was_allocated = state.allocated && !state.allocated->nodes.empty();
  const bool is_moving = was_allocated && device.rdma.empty() && device.driver.kind() == DriverKind::kernel;
  if (missing.empty() && is_moving) missing = "RDMA device";
  return missing == "RDMA device" && rdma == RdmaPolicy::off ? "" : missing;
}

Result<VfSettings> wanted_vf_settings(const Request& request, const MacKeys& mac, const VfConf& vf) {
  VfSettings out = vf.settings;
  out.mac = TRY(wanted_mac(request, mac));
  out.node_guid = out.port_guid = vf.guid;
  return out;
}

namespace {

// A pod can ask for a MAC with CNI_ARGS whatever its device is. Where the interface has no address of six
// bytes, or nobody can set one, the peers ignore it.
bool asks_for_mac_in_vain(const Request& request, const MacKeys& keys, const State& state) {
  const auto asked = request.args.find("MAC");
  const bool asks = asked != request.args.end() && !asked->second.empty();
  if (!asks || keys.args || keys.runtime || state.netdev_in_pod) return false;
  if (state.link) return state.link->ipoib();
  return !state.vf || (state.pf && state.pf->ipoib());
}

}  // namespace

Result<> check_pod(const Request& request, const State& state) {
  if (state.same_netns && !request.netns_override) {
    return Error{Errc::wrong_netns, 0,
                 "the pod's network namespace " + request.netns +
                     " is the host's own; a pod with hostNetwork has the host's devices already",
                 ErrorId::host_netns};
  }
  if (state.occupant && !state.netdev_in_pod) {
    const Link& link = *state.occupant;
    return Error{Errc::exists, 0,
                 "the pod already has an interface with the name or alternative name " + request.ifname +
                     " or a name of the device: " + link.name +
                     (link.kind.empty() ? "" : " (" + link.kind + ")") + "; give the attachment another name",
                 ErrorId::interface_name_taken};
  }
  return {};
}

// What could not be restored afterwards must not be done.
Result<> check_result_fits(const EntryConf& entry) {
  const bool has_address = !entry.ipam_type.empty() || entry.prev_result;
  if (has_address || !is_without_interfaces(entry.cni_version)) return {};
  return Error{Errc::invalid, 0,
               "results of cniVersion " + entry.cni_version +
                   " cannot describe an attachment without an address; set \"cniVersion\": \"0.3.1\" or "
                   "later, or add an ipam section",
               ErrorId::cni_version};
}

Result<AttachPlan> plan_attach(const Request& request, const NetConf& conf, const State& state) {
  if (asks_for_mac_in_vain(request, conf.link.mac, state)) {
    Request without = request;
    without.args.erase("MAC");
    AttachPlan plan = TRY(plan_attach(without, conf, state));
    plan.warnings.push_back("CNI_ARGS MAC: " + state.device.key() +
                            (state.link || state.vf
                                 ? " is InfiniBand, which has no such address"
                                 : " has neither an interface nor a PF that could set it"));
    return plan;
  }
  const std::string& type = conf.entry.type;
  if (!state.netdev_in_pod && is_mtu_in_vain(conf.link.mtu, type, state.link ? &*state.link : nullptr)) {
    NetConf without = conf;
    without.link.mtu.reset();
    AttachPlan plan = TRY(plan_attach(request, without, state));
    plan.warnings.push_back("mtu: " + std::to_string(*conf.link.mtu) +
                            " is ignored, as sriov-cni ignores it: " + state.device.key() +
                            " cannot have it");
    return plan;
  }
  AttachPlan plan;
  plan.ifname = request.ifname;
  TRY(check_result_fits(conf.entry));
  TRY(check_pod(request, state));
  TRY(check_parts(conf.rdma.policy, state));
  TRY(check_cdi(state));
  if (state.netdev_in_pod) {
    // Its properties are set by that plugin, also the MAC in CNI_ARGS, which every entry of a chain gets.
  } else if (state.link) {
    TRY(check_host_use(conf.safety.host_use_allowed, state));
    TRY(plan_link(request, conf.link, conf.pod.link, state, plan));
    plan.eui64 = needs_eui64(*state.link, conf.link.mtu, conf.rdma.policy, state.device);
  } else if (conf.link.mtu || conf.pod.need_link() || !conf.link.tuning.empty()) {
    return Error{Errc::invalid, 0,
                 "mtu, sysctl, sourceRouting, tuning and the settings of a link need an interface, which " +
                     state.device.key() + " (driver " + state.device.driver.name() +
                     ") does not have; take them out of the network",
                 ErrorId::no_interface};
  }
  if (!state.netdev_in_pod) {
    TRY(check_infiniband(conf.vf, type, state));
    TRY(plan_vf(TRY(wanted_vf_settings(request, conf.link.mac, conf.vf)), type, state, plan));
    TRY(plan_pod(conf.pod, state, plan));
  }
  plan.tuning = conf.link.tuning;
  if (state.allocated) plan.cdi_spec = state.allocated->cdi_spec;
  TRY(plan_rdma(conf.rdma, type, state, plan));
  return plan;
}

Record make_record(const Request& request, const std::string& network, const State& state,
                   const AttachPlan& plan) {
  Record out;
  out.attachment = {request.container_id, request.ifname};
  out.rail_of = request.rail_of;
  out.network = network;
  out.netns = request.netns;
  out.device_key = state.device.key();
  if (!state.device.id.empty()) out.device = state.device.id;
  out.link = plan.link;
  if (plan.link && !state.device.netdevs.empty()) out.port = state.device.netdevs.front().dev_port;
  if (plan.vf) out.vf = VfBefore{plan.vf->before, plan.vf->rebind};
  out.routing_table = plan.routing_table;
  if (plan.link) out.pod_mac = plan.mac.value_or(plan.link->mac);
  for (const auto& [device, in_pod] : plan.rdma) out.rdma.push_back({device.name, in_pod, device.index});
  out.allocated_file = state.allocated ? state.allocated->file : "";
  out.config = request.config.text();
  out.cni_args = request.raw_args;
  out.cni_path = request.raw_path;
  return out;
}

}  // namespace vfrail::cni
