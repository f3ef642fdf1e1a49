// Record: what one attachment of vfrail-cni is, and what it changed: the text of a file below its state
// folder (common/node/attachments.h). vfrail-cni writes it, the daemon and the reports read it. Pure.
#pragma once

#include "common/ids.h"
#include "common/ip_address.h"
#include "common/json.h"
#include "common/kernel/kernel.h"
#include "common/kernel/netns.h"
#include "common/kernel/vf_settings.h"
#include "common/result.h"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

struct AttachmentName {
  std::string container_id;
  IfName ifname;

  // "CONTAINER:IFNAME", the name of a record's file, and back.
  std::string text() const;
  static std::optional<AttachmentName> parse(std::string_view text);
  auto operator<=>(const AttachmentName&) const = default;
};

// Device key ("0000:03:02.1") -> the attachment that has the device.
using AttachedDevices = std::map<std::string, AttachmentName>;

// The rule for container ids, which become file names.
// The container id is part of a file name (255 bytes) beside the interface name.
inline constexpr size_t kMaxContainerId = 200;
bool valid_container_id(std::string_view id);

// An address that the host had on a device.
struct HostAddress {
  IpAddress address;
  AddressSettings settings = {};
  bool operator==(const HostAddress&) const = default;
};

// A netdev as it was in the host.
struct LinkBefore {
  int index = 0;
  IfName name;
  std::vector<std::string> altnames;
  MacAddress mac;
  uint32_t mtu = 0;
  uint32_t tx_queue_len = 0;
  std::string alias;
  bool up = false;
  std::string kind;  // empty for most hardware
  std::string parent_device;
  bool promisc = false;  // the administrator's flag, as is the next
  bool allmulti = false;
  int lower = 0;  // IFLA_LINK: a VLAN's lower interface, a veth's peer; 0: none, or not recorded
  MacAddress permanent_mac =
      {};                    // the hardware's own, which tells the ports of one function apart; empty: none
  LinkOptions options = {};  // none in the records of older versions: then none is restored
  // Empty: the record is an older version's, or the kind has none; then it is not restored.
  MacAddress broadcast = {};
  // Indices of the host's interfaces that stood on it: what else stands on it afterwards is the pod's. No
  // value: the record is an older version's, or of another plugin's attachment.
  std::optional<std::vector<int>> uppers = std::nullopt;
  // The host's own, which the kernel drops with the move: neither link-local nor on a lease.
  std::vector<HostAddress> addresses = {};
  // The host's own over it, likewise: not those that the kernel makes by itself. Only where it has addresses.
  std::vector<Route> routes = {};

  // As it is now, without what stands on it.
  static LinkBefore of(const Link& now) {
    return {now.index, now.name,          now.altnames,      now.mac,
            now.mtu,   now.tx_queue_len,  now.alias,         now.up(),
            now.kind,  now.parent_device, now.promisc_set(), now.allmulti_set(),
            now.lower, now.permanent_mac, now.options,       now.broadcast};
  }
  bool ipoib() const { return mac.ipoib(); }
  // The broadcast address of IPoIB has the partition in it, which is not the pod's to choose.
  bool has_other_broadcast(const Link& now) const {
    return !broadcast.bytes.empty() && !ipoib() && now.broadcast != broadcast;
  }
  // Ends with its namespace. The kernel returns hardware instead: its interface has a device below it, and
  // only older kernels, which do not report it, show neither device nor kind.
  bool ends_with_its_namespace() const { return parent_device.empty() && !kind.empty(); }
  bool operator==(const LinkBefore&) const = default;
};

// The settings of a VF that an attachment changes, as they were.
struct VfBefore {
  VfSettings settings;
  bool rebind = false;  // the driver reads a GUID when it is bound
  bool operator==(const VfBefore&) const = default;
};

// What the pod has got, for those who describe it: its files (cni/plan/pod_files.h), CHECK, reports.
struct InPod {
  MacAddress mac;                         // empty: no interface
  uint32_t mtu = 0;                       // 0: no interface
  std::vector<IpAddress> addresses = {};  // in the order of the IPAM plugin
  std::string rdma = {};                  // its first RDMA device, by its name in the pod; empty: none
  std::string uverbs = {};                // "uverbs4"
  std::string link_layer = {};            // "Ethernet", "InfiniBand"
  uint32_t rdma_port = 1;
  // Of the RoCE v2 GID of the first address, in the table of that port. No value: it is not RoCE, has no
  // address, or its GID had not come.
  std::optional<uint32_t> gid_index = std::nullopt;
  std::optional<PciAddress> pf = std::nullopt;
  std::optional<int> numa_node = std::nullopt;
  std::string default_interface = {};  // that of the pod's default route; empty: none, or not asked
  bool operator==(const InPod&) const = default;
};

// An interface that was created for the attachment, upon one of the host that stays there.
struct ChildLink {
  std::string kind;  // "macvlan", "ipvlan", "ipoib"
  IfName master;     // what it stands on
  int master_index = 0;
  std::optional<DeviceId> device;  // of the master
  bool operator==(const ChildLink&) const = default;
};

// An RDMA device that moves with the attachment.
struct MovedRdma {
  RdmaName name;    // in the host
  RdmaName in_pod;  // its name there
  // The kernel's number of the device: neither a move nor a renaming changes it (ib_device_rename(),
  // rdma_dev_change_netns()). No value: the record is an older version's.
  std::optional<uint32_t> index = std::nullopt;
  bool operator==(const MovedRdma&) const = default;
};

// The key in place of a device's: each such attachment has an interface of its own.
std::string child_key(const AttachmentName& attachment);

struct Record {
  AttachmentName attachment;
  // The interface of the attachment that it is one of several rails of, as the runtime knows it; empty: it is
  // one of its own.
  IfName rail_of = {};
  std::string network;
  std::string boot_id;  // the state of devices does not outlive a boot
  std::string netns;
  NetnsId netns_id;
  // The host's namespace at ADD: one node of several on a machine (kind) can get another without a boot. No
  // value: the record is an older version's.
  std::optional<NetnsId> host_netns = std::nullopt;
  std::string device_key;
  std::optional<DeviceId> device;
  std::optional<LinkBefore> link;  // no value for devices without a netdev
  std::optional<ChildLink> child;  // in place of a device: then the key stands for the interface
  // Of the netdev; a move keeps it unless the pod has it already. 0: nothing says that it has moved, as
  // before the move and after a kill, when another interface of the pod can have the index it had in the
  // host.
  int index_in_pod = 0;
  std::optional<uint32_t> port;  // dev_port of the netdev: which one, where the function has several
  std::optional<VfBefore> vf;    // no value: no setting was to be changed
  bool rebinding = false;  // its driver is being bound again: a kill, or a failure, leaves it without one
  // The IPAM plugin answered ADD with an error and refused the DEL of the roll-back, too: it holds no
  // address.
  bool address_refused = false;
  std::optional<uint32_t> routing_table;  // of the pod, the attachment's own (source routing)
  std::map<uint32_t, std::string> irqs =
      {};                       // interrupt -> mask of its CPUs before; of those that were changed
  MacAddress pod_mac;           // the address it has in the pod
  std::vector<MovedRdma> rdma;  // with an index each, or none
  // AllocatedNodes::file at ADD: those that are void with the attachment. Empty: there were none; no value:
  // the record is an older version's.
  std::optional<std::string> allocated_file;
  std::optional<InPod> in_pod;  // no value while ADD is at work, and in the records of older versions
  // What the IPAM plugin needs to release the address when the runtime never asks for it.
  std::string config;
  std::string cni_args;
  std::string cni_path;

  bool operator==(const Record&) const = default;
};

// The pod, as the runtime named it at ADD (CNI_ARGS). Both empty if it gave no name (no Kubernetes).
struct RecordedPod {
  std::string name_space;
  std::string name;
  std::string text() const;  // "namespace/name", or empty
};
RecordedPod pod_of(const Record& record);
// "net1 of pod demo/trainer-0, network rail0".
std::string attachment_text(const Record& record);

// The configuration that a record holds may have 1 MiB, and escapes double it.
inline constexpr size_t kMaxRecordBytes = size_t{3} << 20;
// The text of a record file, and back.
std::string format_record(const Record& record);
Result<Record> parse_record(std::string_view text);
// The parts about the netdev and the VF, which a baseline has, too.
Json format_link(const LinkBefore& link);
Result<LinkBefore> parse_link_before(const Json::Object& object);
Json format_vf(const VfBefore& before);
Result<VfBefore> parse_vf_before(const Json::Object& object);

}  // namespace vfrail
