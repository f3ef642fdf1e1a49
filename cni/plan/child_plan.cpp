#include "cni/plan/child_plan.h"

#include "common/errors/error_id.h"

namespace vfrail::cni {

namespace {

constexpr uint16_t kEthernet = 1;     // ARPHRD_ETHER
constexpr uint16_t kInfiniband = 32;  // ARPHRD_INFINIBAND
constexpr uint32_t kBridge = 4;       // MACVLAN_MODE_BRIDGE: the pods of a node reach each other
constexpr uint32_t kL2 = 0;           // IPVLAN_MODE_L2

Result<> check_master(ChildKind kind, const State& state) {
  if (!state.link)
    return Error{Errc::not_found, 0,
                 state.device.key() + " has no interface in the host, on which one of the pod could stand",
                 ErrorId::master_unusable};
  const Link& master = *state.link;
  const uint16_t wanted = kind == ChildKind::ipoib ? kInfiniband : kEthernet;
  if (master.type == wanted && !master.loopback()) return {};
  return Error{Errc::invalid, 0,
               std::string("mode ") + name_of(kind) + " needs an interface of " +
                   (wanted == kInfiniband ? "InfiniBand" : "Ethernet") + ", which " + master.name +
                   " is not; set master to another one, or mode to " +
                   (wanted == kInfiniband ? "macvlan or ipvlan" : "ipoib"),
               ErrorId::master_unusable};
}

// The kernel refuses a larger MTU than that of the lower interface (macvlan_common_newlink()).
Result<> check_child_mtu(const std::optional<uint32_t>& mtu, const Link& master) {
  if (!mtu || *mtu <= master.mtu) return {};
  return Error{Errc::invalid, 0,
               "mtu: " + std::to_string(*mtu) + " is more than " + master.name + " has (" +
                   std::to_string(master.mtu) + "); raise that of the host first, or leave mtu out",
               ErrorId::mtu_out_of_range};
}

// CNI_ARGS is given for every interface of a pod, so an address there is no reason to fail.
Result<> plan_child_mac(const Request& request, const NetConf& conf, ChildPlan& plan) {
  const auto mac = TRY(wanted_mac(request, conf.link.mac));
  if (conf.child->kind == ChildKind::macvlan) {
    plan.link.mac = mac;
    return {};
  }
  if (conf.link.mac.args || conf.link.mac.runtime)
    return Error{
        Errc::invalid, 0,
        "mac: an interface of mode " + plan.link.kind + " has the address of the host's; ask for none",
        ErrorId::mac_invalid};
  if (mac)
    plan.in_vain.push_back("CNI_ARGS MAC: an interface of mode " + plan.link.kind +
                           " has the address of the host's");
  return {};
}

// The RDMA device of the master stays in the host, where pods see it in the shared mode alone.
Result<> plan_child_rdma(RdmaPolicy policy, const State& state, ChildPlan& plan) {
  const bool any = !state.device.rdma.empty();
  plan.uses_rdma = any && policy != RdmaPolicy::off && state.rdma_mode == RdmaNetnsMode::shared;
  if (plan.uses_rdma || policy == RdmaPolicy::off) return {};
  const std::string& master = state.link->name;
  if (policy == RdmaPolicy::require && !any)
    return Error{Errc::not_found, 0,
                 "\"rdma\": \"require\", and " + master + " has no RDMA device in the host",
                 ErrorId::no_rdma_device};
  if (!any) return {};
  const std::string why = "the RDMA device " + state.device.rdma.front().name + " of " + master +
                          " stays in the host, and RDMA's exclusive namespace mode hides it from the pod; "
                          "with netns_mode=1 of ib_core pods share it";
  if (policy == RdmaPolicy::require) return Error{Errc::unsupported, 0, why, ErrorId::rdma_exclusive_mode};
  plan.warning = why;
  return {};
}

}  // namespace

Result<ChildPlan> plan_child(const Request& request, const NetConf& conf, const State& state) {
  TRY(check_result_fits(conf.entry));
  TRY(check_pod(request, state));
  const ChildKind kind = conf.child->kind;
  TRY(check_master(kind, state));
  TRY(check_child_mtu(conf.link.mtu, *state.link));
  ChildPlan out;
  out.link = {.name = *IfName::parse(request.ifname),
              .kind = name_of(kind),
              .lower = state.link->index,
              .mtu = conf.link.mtu,
              .mode = kind == ChildKind::macvlan ? kBridge : kL2,
              .pkey = conf.child->pkey};
  TRY(plan_child_mac(request, conf, out));
  AttachPlan of_pod;
  TRY(plan_pod(conf.pod, state, of_pod));
  out.routing_table = of_pod.routing_table;
  TRY(plan_child_rdma(conf.rdma.policy, state, out));
  return out;
}

Record make_child_record(const Request& request, const std::string& network, const State& state,
                         const ChildPlan& plan) {
  Record out;
  out.attachment = {request.container_id, request.ifname};
  out.network = network;
  out.netns = request.netns;
  out.device_key = child_key(out.attachment);
  const DeviceId& device = state.device.id;
  out.child = ChildLink{.kind = plan.link.kind,
                        .master = state.link->name,
                        .master_index = state.link->index,
                        .device = device.empty() ? std::nullopt : std::optional(device)};
  out.routing_table = plan.routing_table;
  if (plan.link.mac) out.pod_mac = *plan.link.mac;
  out.allocated_file = "";
  out.config = request.config.text();
  out.cni_args = request.raw_args;
  out.cni_path = request.raw_path;
  return out;
}

}  // namespace vfrail::cni
