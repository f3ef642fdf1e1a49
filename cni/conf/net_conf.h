// NetConf: the network configuration, parsed and checked; input only. plan.h combines it with the node.
// Accepts the union of host-device, sriov-cni, ib-sriov-cni, rdma-cni, tuning and sbr keys, without regard to
// case; keys that this version cannot honour are refused by name, because ignoring a VLAN would put a pod
// into the wrong network.
#pragma once

#include "cni/conf/link_settings.h"
#include "cni/conf/tuning.h"
#include "common/ids.h"
#include "common/json.h"
#include "common/kernel/vf_settings.h"
#include "common/log.h"
#include "common/node/attachment_record.h"
#include "common/result.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::cni {

enum class RdmaPolicy : uint8_t {
  automatic,  // move the function's RDMA devices in exclusive mode, if it has any
  require,    // and fail if it has none
  off,        // leave them where they are
};

// Which device. The scheduler's id wins; the others are for use without a device plugin.
struct DeviceSelector {
  std::optional<DeviceId> id;  // deviceID, pciBusID, runtimeConfig.deviceID: all the same
  std::string unit;  // in their place: a unit of several devices (common/container/allocated_unit.h)
  std::string name;  // device: name of the netdev in the host
  std::optional<MacAddress> mac;  // hwaddr
  std::string kernel_path;        // kernelpath: "/sys/devices/..."
  std::optional<uint32_t> port;   // dev_port of the netdev, where a function has several

  bool empty() const { return !id && unit.empty() && name.empty() && !mac && kernel_path.empty(); }
};

inline constexpr size_t kMaxRails = 64;

// rails: how the devices of a unit are attached, of which each has an interface of its own.
struct RailSettings {
  std::string ifname = "IFNAMErRAIL";  // of all but the first, which has CNI_IFNAME: net1, net1r1, net1r2
  std::string resource;                // "rdma/hca", where two resources of a node have such units
  std::vector<Json> ipam;              // the keys of ipam that differ, one object for each rail; empty: none

  std::string ifname_of(const std::string& first, size_t rail) const;
};

// claims: an entry behind the node's primary network attaches the devices of the pod's ResourceClaims, which
// it finds by the pod's uid. Each has an interface of its own.
struct ClaimsConf {
  std::string ifname = "netNUMBER";       // from net1 on, in the order of the claims and of their requests
  std::map<std::string, Json> resources;  // keys that replace the entry's for devices of a resource

  std::string ifname_of(size_t number) const;
  // The configuration `network`, which has this one in it, for the devices of a resource.
  Json for_resource(Json network, const std::string& resource) const;
};
// Of the network of such attachments: the primary network's name is that of its own addresses, with which an
// IPAM plugin must not mix theirs.
std::string network_of_claims(const std::string& network);
bool is_network_of_claims(std::string_view network);

// With the number of the rail for RAIL.
std::string with_rail(const std::string& text, size_t rail);

struct Dns {
  std::vector<std::string> nameservers;
  std::string domain;
  std::vector<std::string> search;
  std::vector<std::string> options;

  bool empty() const { return nameservers.empty() && domain.empty() && search.empty() && options.empty(); }
};

// A file below /proc/sys/net of the pod's namespace.
struct SysctlSetting {
  std::string key;   // as it is written: "net.ipv4.conf.IFNAME.arp_notify"
  std::string path;  // "ipv4/conf/IFNAME/arp_notify"
  std::string value;
  bool operator==(const SysctlSetting&) const = default;

  std::string path_for(std::string_view ifname) const;  // with the interface's name for IFNAME
};

// An attachment's tables are `own_table` and those that follow it in steps of this, so that one number in its
// record stands for all of them.
inline constexpr uint32_t kTableStep = 1'000'000;
inline constexpr uint32_t kMaxTables = 1024;  // as many as an assignment can have addresses
inline constexpr uint32_t kMaxOwnTable = UINT32_MAX - kTableStep * kMaxTables;

// Packets from one of the interface's addresses are routed by a table of its own.
struct SourceRouting {
  std::optional<uint32_t> table;  // no value: the lowest free one from 100 on
};

// The keys of the tuning and sbr plugins: pod_conf.cpp.
struct PodSettings {
  LinkSettings link;
  std::vector<SysctlSetting> sysctls;
  std::optional<SourceRouting> source_routing;
  // It is one of several in its pod: it answers ARP for its own addresses alone, and asks with them alone.
  bool keeps_own_arp = false;
  bool notifies = false;  // type sriov: arp_notify and ndisc_notify are on, as sriov-cni sets them

  bool need_link() const { return !link.empty() || !sysctls.empty() || source_routing; }
};

// Variables for NCCL, as they are written: ("NCCL_IB_TC", "106").
using NcclVariables = std::vector<std::pair<std::string, std::string>>;

// What CNI itself defines of an entry: what its version, its result and GC go by.
struct EntryConf {
  std::string cni_version;
  std::string network;  // "name"
  std::string type;
  std::string ipam_type;  // empty: no address management
  Dns dns;
  std::optional<Json> prev_result;
  // GC: the attachments that are alive. No value: the runtime did not send a list, so nothing is stale.
  std::optional<std::vector<AttachmentName>> valid_attachments;
};

// Of searchTimeoutSeconds, 0 to 60.
inline constexpr std::chrono::seconds kUsualSearchTimeout{2};
inline constexpr std::chrono::seconds kLongestSearchTimeout{60};

// What becomes of the host's addresses and routes of a device while a pod has it. They are restored with it.
enum class HostConfigUse : uint8_t {
  keep,  // nobody has them
  move,  // the pod has them
};

// What the network allows, and what it expects of its pods.
struct SafetyConf {
  // podNetAdmin: where the kernel does not list what stands on a device, DEL also searches hidden namespaces.
  bool pods_have_net_admin = false;
  HostConfigUse host_config = HostConfigUse::keep;  // hostConfig
  bool host_use_allowed = false;                    // hostUse: "allow": also a device that the host uses
  bool reset = false;                               // reset: DEL resets the function, for the next pod
  // searchTimeoutSeconds: how long DEL searches the node's namespaces for what a pod has left in them.
  std::chrono::seconds search_timeout = kUsualSearchTimeout;
};

// The sources of the address. CNI_ARGS is another one: wanted_mac() (plan.h) has their order.
struct MacKeys {
  std::optional<MacAddress> args;     // args.cni.mac
  std::optional<MacAddress> runtime;  // runtimeConfig.mac
  std::optional<MacAddress> network;  // mac
};

// What is set on the netdev before the pod has it.
struct LinkConf {
  MacKeys mac;
  std::optional<uint32_t> mtu;  // 68-65535
  Tuning tuning;
};

// mode: the interface of the pod is created upon one of the host, which the device keys name, or master.
enum class ChildKind : uint8_t { macvlan, ipvlan, ipoib };
const char* name_of(ChildKind kind);  // as RTM_NEWLINK has it

struct ChildConf {
  ChildKind kind = ChildKind::macvlan;
  uint16_t pkey = 0;  // of ipoib; 0: the partition of the host's interface
};

// What is set at the PF, and what the network expects of a VF.
struct VfConf {
  VfSettings settings;              // without mac and GUIDs, of which there are several sources (plan.h)
  std::optional<uint64_t> guid;     // runtimeConfig.infinibandGUID, then args.cni.guid, then guid
  bool ib_kubernetes = false;       // ibKubernetesEnabled: the GUID comes from there, or the pod must wait
  bool ib_kubernetes_done = false;  // it has written that it has finished
  bool vfio_wanted = false;         // vfioPciMode: an error if the device is bound otherwise
};

struct RdmaConf {
  RdmaPolicy policy = RdmaPolicy::automatic;
  std::string name;        // rdmaName: of the RDMA device in the pod; empty: as in the host
  bool isolation = false;  // rdmaIsolation: true, which the shared mode cannot provide
};

struct LogConf {
  LogLevel level = LogLevel::info;
  std::string file;  // empty: stderr
};

// The parts, of which a function takes those that it needs. The whole is for the verbs, which distribute it.
struct NetConf {
  EntryConf entry;
  DeviceSelector device;
  SafetyConf safety;
  LinkConf link;
  VfConf vf;
  RdmaConf rdma;
  PodSettings pod;
  NcclVariables nccl;
  RailSettings rails;
  std::optional<ChildConf> child;    // no value: the device moves
  std::optional<ClaimsConf> claims;  // no value: it attaches what the entry names
  LogConf log;
  std::string device_info_file;  // runtimeConfig.CNIDeviceInfoFile; empty: none
  // The first key of this entry that is about the interface; empty: none. args.cni, which every entry of a
  // chain gets, does not count.
  std::string interface_key;
  std::vector<std::string> warnings;  // keys that are not known or mean nothing here, a sentence each
};

// What GC needs of a configuration. Its other keys may be such as no ADD accepts.
struct GcConf {
  std::string network;  // of the attachments: with `claims` network_of_claims()
  // EntryConf's.
  std::optional<std::vector<AttachmentName>> valid_attachments;
};

// As plugins in Go read it: U+FFFD replaces text that is not Unicode. Errc::protocol: no JSON.
// Errc::unsupported: a key of another version, named. Errc::invalid: anything else.
Result<NetConf> parse_net_conf(std::string_view text);

// The text of a configuration, which is decoded once, so that a verb, its error and its record agree.
class Configuration {
 public:
  Configuration() = default;
  Configuration(const std::string& text);
  // One that has not been read as a whole.
  explicit Configuration(const Error& refusal) : conf_(refusal), gc_(refusal) {}

  const std::string& text() const { return text_; }      // U+FFFD replaces what is not Unicode
  const Result<NetConf>& conf() const { return conf_; }  // parse_net_conf()
  const Result<GcConf>& gc() const { return gc_; }
  // False: it is not JSON, or beyond a limit.
  bool is_decoded() const { return decoded_; }
  // What can be read even of a refused configuration: its version, for the error ("0.1.0" if absent), and its
  // IPAM plugin, for a DEL (empty if there is none that could be run).
  const std::string& version() const { return version_; }
  const std::string& ipam_type() const { return ipam_type_; }
  // Its version or name is of another JSON type, which the peers' library cannot decode.
  bool is_mistyped() const { return mistyped_; }

 private:
  std::string text_;
  std::string version_ = "0.1.0";
  std::string ipam_type_;
  bool decoded_ = false;
  bool mistyped_ = false;
  void read_what_can_be(const Json& json);

  Result<NetConf> conf_ = Error{Errc::protocol, 0, "it is empty"};
  Result<GcConf> gc_ = Error{Errc::protocol, 0, "it is empty"};
};

// One of the plugins that vfrail can be installed as: what that one does not read must not make ADD fail.
bool is_peer(std::string_view type);

// args.cni, what a pod's annotation (Multus: cni-args) and ib-kubernetes add; null: there is none.
Result<const Json::Object*> read_args_cni(ObjectReader& conf);
Result<PodSettings> read_pod_settings(ObjectReader& conf);
// args.cni, a pod's annotation (Multus: cni-args), overrides the keys that tuning reads there: mac, mtu, the
// settings of the link, sysctl.
Result<> read_pod_args(ObjectReader& conf, NetConf& out);
// mode, and master, which becomes one of the device keys. Before the others are checked for what does not go
// with it: refuse_device_keys().
Result<> read_child(ObjectReader& conf, NetConf& out);
// With mode the device stays in the host, as it is: keys that would change it are refused by name.
Result<> refuse_device_keys(ObjectReader& conf, const NetConf& read);
// claims_conf.cpp
bool has_claims_key(ObjectReader& conf);
Result<std::optional<ClaimsConf>> read_claims(ObjectReader& conf);
// Keys that have no place beside claims, by name.
Result<> refuse_claims_keys(ObjectReader& conf, const NetConf& read);
// The configuration of each resource that has keys of its own; `config` is the whole, which `read` is.
Result<> check_resources(const Json& config, NetConf& read);
// 68-65535; no value if absent or 0.
Result<std::optional<uint32_t>> read_mtu(ObjectReader& conf);
// No value if absent or empty; all zero and multicast addresses are refused.
Result<std::optional<MacAddress>> read_settable_mac(ObjectReader& reader, std::string_view key);

// nccl_conf.cpp: each name once.
Result<NcclVariables> read_nccl(ObjectReader& conf);

// rails_conf.cpp
Result<RailSettings> read_rails(ObjectReader& conf);

// repeated_keys.cpp: of a text that is a JSON object.
inline constexpr size_t kMaxSysctlKeys = 256;
Result<> refuse_repeated_sysctls(std::string_view text);

// unknown_keys.cpp: of these keys of a configuration, which were not read, those that no plugin knows: a
// sentence each, with the key that was probably meant.
std::vector<std::string> unknown_keys(const std::vector<std::string>& unread);

// The `dns` of a configuration or of a result; empty if there is none.
Result<Dns> read_dns(ObjectReader& parent);

}  // namespace vfrail::cni
