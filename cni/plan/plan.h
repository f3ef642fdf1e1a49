// AttachPlan: what ADD is going to change. plan_attach() is pure and makes every refusal, so a refusal has
// touched nothing.
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/node/device.h"
#include "cni/plan/host_config.h"
#include "cni/record/record.h"
#include "common/container/allocated_nodes.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::cni {

// The tuning plugin's: patterns of the sysctls that networks may set on this node. No such file: any below
// net.
inline constexpr std::string_view kSysctlAllowList = "/etc/cni/tuning/allowlist.conf";

// The facts that the decision depends on.
struct State {
  Device device;
  std::optional<Link> link;                // its netdev in the host
  std::vector<Link> uppers;                // the host's interfaces that stand on it
  HostConfig host_config;                  // of the netdev
  std::optional<RdmaNetnsMode> rdma_mode;  // asked only if the device has RDMA devices
  std::vector<RdmaDevice> rdma;            // its RDMA devices in the host
  std::optional<VfPlace> vf;               // read only if the configuration sets something there
  std::string no_vf;                       // why there is none
  std::optional<Link> pf;                  // the netdev of its PF; read only for user-space drivers
  VfSettings vf_settings;
  std::vector<VfReport> other_vfs;  // of the same PF
  std::optional<Link>
      occupant;  // the interface of the pod that has the requested name, or one of the altnames
  std::optional<AllocatedNodes> allocated;  // by Allocate, to the container
  std::string no_cdi;                       // why the runtime ignores its CDI spec; read only if there is one
  std::optional<std::string> sysctl_allow_list;  // the node's, if it has one; read only if sysctls are wanted
  std::vector<uint32_t> tables_in_use;           // of the pod; read only if source routing is wanted
  // What else on this node has the address that is to be set; looked for only if one is.
  std::vector<std::string> mac_owners;
  std::string host_use;        // why the host needs the netdev; read unless hostUse allows it
  bool netdev_in_pod = false;  // an earlier plugin of the chain has moved it, and owns it
  bool same_netns = false;     // the pod's namespace is the host's
};

struct VfPlan {
  VfPlace place;
  VfSettings change;
  VfSettings before;    // of what changes
  bool rebind = false;  // the driver must be bound again to apply a GUID
};

struct PlannedRdma {
  RdmaDevice device;
  RdmaName in_pod;  // its name there
};

struct AttachPlan {
  IfName ifname;
  std::optional<VfPlan> vf;        // settings to change at the PF
  std::optional<LinkBefore> link;  // the netdev to move; nothing for devices without one
  std::optional<MacAddress> mac;   // to be set; nothing: keep
  std::optional<uint32_t> mtu;     // to be set; nothing: keep
  LinkSettings settings;           // to be set
  bool eui64 = false;              // its link-local address has to equal the default GID of its RDMA device
  std::vector<std::string> own_altnames;  // equal to the new name, which the kernel refuses (EEXIST): removed
  Tuning tuning;                          // to be set in the host, before the move
  std::optional<uint32_t> routing_table;  // the attachment's own, with source routing
  std::vector<PlannedRdma> rdma;          // to move
  std::vector<std::string> nodes;         // the device nodes that the container was allocated
  std::string cdi_spec;                   // with CDI: the file to correct instead
  std::optional<MacAddress> reported_mac;  // without a netdev: the address that user space finds
  uint32_t reported_mtu = 0;               // and the MTU; 0: unknown
  std::vector<std::string> warnings;       // what the network asks for in vain, a sentence each

  // IPoIB's netdev is a client of the RDMA device: each move of that device creates it again, in the host or,
  // since Linux 6.17, where that device is.
  bool ipoib() const { return link && link->ipoib(); }
};

// What the attachment must have and the host lacks (Device::missing_part()). Of `state` the device, what was
// allocated of it, and whether its netdev is in the pod. The nodes that a container was allocated show that
// the device has an RDMA device: while that is being moved, nothing else does.
std::string missing_part(RdmaPolicy rdma, const State& state);

Result<AttachPlan> plan_attach(const Request& request, const NetConf& conf, const State& state);

// The refusals about the pod's namespace, and about a result that could not be printed.
Result<> check_pod(const Request& request, const State& state);
Result<> check_result_fits(const EntryConf& entry);

// The refusals about what the pod gets beside the interface, and what is decided about it.
// For source routing: the one that is wanted, else the lowest free one from 100 on.
Result<uint32_t> choose_table(const SourceRouting& wanted, const std::vector<uint32_t>& in_use);
Result<> plan_pod(const PodSettings& wanted, const State& state, AttachPlan& plan);

// vf_plan.cpp: the refusals about InfiniBand, and what is changed at the PF. `type` is the configuration's:
// the peers differ in what they leave undone.
Result<> check_infiniband(const VfConf& wanted, const std::string& type, const State& state);
Result<> plan_vf(const VfSettings& wanted, const std::string& type, const State& state, AttachPlan& plan);
// Whether the result reports what the PF has of a device for user space, as that of sriov-cni does.
bool reports_pf(const std::string& type, const Device& device);

// The address to set on the netdev: args.cni.mac, then runtimeConfig.mac, then CNI_ARGS MAC, then mac, as in
// tuning.
Result<std::optional<MacAddress>> wanted_mac(const Request& request, const MacKeys& keys);

// sriov-cni has a key `mtu`, which it never sets: one that the interface cannot have, or for a device without
// an interface, is not a reason to fail under its name.
bool is_mtu_in_vain(const std::optional<uint32_t>& mtu, const std::string& type, const Link* link);

// The key that asks for RDMA devices of the pod's own, which need the exclusive namespace mode; null if none
// does. `rdma: require` does not: both modes provide RDMA.
const char* isolation_key(const RdmaConf& wanted);
// What the node lacks for that, and the remedy; empty if it lacks nothing. Without a mode no RDMA is loaded.
std::optional<std::string> missing_isolation(const RdmaConf& wanted, std::optional<RdmaNetnsMode> mode);

// The settings that the configuration asks for at the PF.
Result<VfSettings> wanted_vf_settings(const Request& request, const MacKeys& mac, const VfConf& vf);

Record make_record(const Request& request, const std::string& network, const State& state,
                   const AttachPlan& plan);

}  // namespace vfrail::cni
