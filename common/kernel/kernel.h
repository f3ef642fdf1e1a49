// Kernel: what vfrail needs from the kernel about one network namespace, in our own types. NetlinkKernel is
// the real one; tests/support/fake_kernel enforces the same rules in memory, and
// tests/support/kernel_contract.h holds both to them. Code that spans two namespaces takes two Kernels.
#pragma once

#include "common/ids.h"
#include "common/ip_address.h"
#include "common/kernel/ethtool.h"
#include "common/kernel/netns.h"
#include "common/kernel/upper_links.h"
#include "common/kernel/vf_settings.h"
#include "common/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// What RTM_SETLINK sets beside what every attachment sets: the rest of what a pod with NET_ADMIN can change
// on its interface by that message. It survives a move. No value: the kernel does not know it, or (in a
// change) it stays.
struct LinkOptions {
  // IFF_DEBUG, NOTRAILERS, NOARP, DYNAMIC, MULTICAST, PORTSEL and AUTOMEDIA: what __dev_change_flags()
  // accepts, without UP, PROMISC and ALLMULTI.
  static constexpr uint32_t kFlags = 0xf0a4;
  std::optional<uint32_t> flags = std::nullopt;  // within kFlags
  std::optional<uint32_t> mode = std::nullopt;   // IF_LINK_MODE_*: 1 keeps the interface DORMANT
  std::optional<uint32_t> group = std::nullopt;  // ip-link(8) group
  // Bits that keep proto_down set (do_set_proto_down()).
  std::optional<uint32_t> proto_down_reason = std::nullopt;
  std::optional<uint32_t> proto_down = std::nullopt;    // 0 or 1
  std::optional<uint32_t> gso_max_size = std::nullopt;  // bytes, as are the sizes below
  std::optional<uint32_t> gso_max_segs = std::nullopt;
  std::optional<uint32_t> gro_max_size = std::nullopt;
  std::optional<uint32_t> gso_ipv4_max_size = std::nullopt;
  std::optional<uint32_t> gro_ipv4_max_size = std::nullopt;

  struct Row {
    const char* name;
    std::optional<uint32_t> LinkOptions::*value;
  };
  // In the order in which do_setlink() applies them; setting the size for IPv6 can set that for IPv4, too.
  static constexpr Row kRows[] = {{"flags", &LinkOptions::flags},
                                  {"mode", &LinkOptions::mode},
                                  {"group", &LinkOptions::group},
                                  {"protoDownReason", &LinkOptions::proto_down_reason},
                                  {"protoDown", &LinkOptions::proto_down},
                                  {"gsoMaxSize", &LinkOptions::gso_max_size},
                                  {"gsoMaxSegs", &LinkOptions::gso_max_segs},
                                  {"groMaxSize", &LinkOptions::gro_max_size},
                                  {"gsoIpv4MaxSize", &LinkOptions::gso_ipv4_max_size},
                                  {"groIpv4MaxSize", &LinkOptions::gro_ipv4_max_size}};

  // The set options that `now` has otherwise.
  LinkOptions differing_from(const LinkOptions& now) const;
  bool empty() const { return *this == LinkOptions{}; }
  bool operator==(const LinkOptions&) const = default;
};

// A network interface, as RTM_GETLINK reports it (rtnetlink(7), if_link.h).
struct Link {
  int index = 0;
  IfName name;
  std::vector<std::string> altnames;
  uint16_t type = 0;  // ARPHRD_*: 1 Ethernet, 32 InfiniBand
  MacAddress mac;
  MacAddress broadcast;      // where broadcasts are sent; empty where the kind has none
  MacAddress permanent_mac;  // empty for virtual links
  uint32_t mtu = 0;
  uint32_t min_mtu = 0;  // 0: the driver does not say
  uint32_t max_mtu = 0;  // 0: the driver does not say
  uint32_t tx_queue_len = 0;
  uint32_t flags = 0;  // IFF_*
  uint32_t promiscuity = 0;
  uint32_t allmulti = 0;
  std::string alias;
  std::string kind;  // "veth", "bond", "vlan", ...; empty for hardware
  int master = 0;    // index of the bond, bridge, ... that it is a member of; 0 for none
  int lower = 0;     // IFLA_LINK: the link that a VLAN, macvlan, ... stands on; 0 for none
  // The namespace of that link, as this namespace's id for it (Kernel::nsid_of()); no value: this one.
  std::optional<int> lower_nsid;
  uint32_t xdp_modes = 0;              // XDP_FLAGS_*_MODE of the programs that are attached (if_link.h)
  std::vector<uint32_t> xdp_programs;  // their numbers
  std::string parent_bus;     // "pci", "auxiliary", ...; empty for what is not hardware, and where neither
                              // kernel nor driver says it
  std::string parent_device;  // "0000:03:02.1"
  std::string phys_port_name;
  std::string phys_switch_id;  // hex; empty outside switchdev mode
  LinkOptions options;

  bool ipoib() const { return mac.ipoib(); }
  bool loopback() const { return type == 772; }             // ARPHRD_LOOPBACK
  bool up() const { return (flags & 1U) != 0; }             // IFF_UP: administratively up
  bool carrier() const { return (flags & 0x10000U) != 0; }  // IFF_LOWER_UP
  // What the administrator set (IFF_PROMISC, IFF_ALLMULTI); the counters also count bridges, sniffers, ...
  bool promisc_set() const { return (flags & 0x100U) != 0; }
  bool allmulti_set() const { return (flags & 0x200U) != 0; }
  bool operator==(const Link&) const = default;
};

// What to change on a link. One change is one RTM_SETLINK. The kernel applies it in the order of
// do_setlink(): namespace, MAC, MTU, name, alias, broadcast address, flags, queue length; what was applied
// before an error stays applied.
struct LinkChange {
  int netns_fd = -1;  // move there; the link's index may change
  std::optional<std::string> name = std::nullopt;
  std::optional<MacAddress> mac = std::nullopt;
  std::optional<MacAddress> broadcast = std::nullopt;
  std::optional<uint32_t> mtu = std::nullopt;
  std::optional<uint32_t> tx_queue_len = std::nullopt;
  std::optional<std::string> alias = std::nullopt;
  std::optional<bool> up = std::nullopt;
  std::optional<bool> promisc = std::nullopt;
  std::optional<bool> allmulti = std::nullopt;
  LinkOptions options = {};
  // The IPv6 link-local address of the link is made of its MAC from here on (IFLA_INET6_ADDR_GEN_MODE),
  // whatever the namespace's default is. EAFNOSUPPORT, and nothing has changed, without IPv6 in the kernel or
  // with an MTU below 1280. The kernel applies it last, after the link is up: an interface that has its
  // carrier at that moment (veth) has made its address already, that of a NIC comes later.
  bool eui64 = false;
  bool operator==(const LinkChange&) const = default;
};

enum class DadState : uint8_t { done, tentative, failed };

// What an address has beside itself (ip-address(8)).
struct AddressSettings {
  std::optional<IpAddress> broadcast = std::nullopt;  // of IPv4; prefix not used
  std::optional<IpAddress> peer = std::nullopt;       // of point-to-point: who is at the other end
  std::optional<uint32_t> priority = std::nullopt;    // metric of the route to its network
  uint8_t scope = 0;             // RT_SCOPE_*, of IPv4; of IPv6 it follows from the address
  bool no_prefix_route = false;  // the kernel makes no route to its network
  bool no_dad = false;           // of IPv6: used without duplicate address detection
  std::string label = {};        // of IPv4; empty: the name of the interface

  // Those of an address that is given with its prefix alone: broadcasts go to the last address of its
  // network.
  static AddressSettings usual(const IpAddress& address);
  bool operator==(const AddressSettings&) const = default;
};

struct LinkAddress {
  IpAddress address;
  DadState dad = DadState::done;
  bool temporary = false;  // of IPv6's privacy extensions, which replace it after a while
  bool permanent = true;   // not on a lease (IFA_F_PERMANENT)
  AddressSettings settings = {};
};

struct Route {
  IpAddress destination;             // prefix 0: default route
  std::optional<IpAddress> gateway;  // prefix not used
  int link = 0;                      // output interface
  uint32_t table = 254;              // RT_TABLE_MAIN
  bool onlink = false;               // no route has to reach the gateway (RTNH_F_ONLINK)
  std::optional<uint32_t> priority;
  std::optional<uint8_t> scope;  // RT_SCOPE_*; the kernel's usual one if not set
  std::optional<uint32_t> mtu;
  std::optional<uint32_t> advmss;
  std::map<uint16_t, uint32_t> metrics = {};  // RTAX_* -> value, of the others that are numbers
  std::optional<IpAddress> source = {};       // what its packets are from (RTA_PREFSRC); prefix not used
  std::optional<uint8_t> protocol = {};       // RTPROT_*: who made it; that of ip-route(8) if not set
  uint8_t tos = 0;                            // of IPv4
  std::optional<uint8_t> preference = {};     // of IPv6: ICMPV6_ROUTER_PREF_*
  // By a parser alone: it has more than add_route() can say. It is one of several next hops, its next hop is
  // an object of its own, or it encapsulates.
  bool is_compound = false;
  // By a parser alone: all that the kernel said of the link is this next hop object (ip-nexthop(8)), as it
  // does with net.ipv4.nexthop_compat_mode=0.
  std::optional<uint32_t> next_hop;

  // "10.9.0.0/16 via 10.1.0.1 table 100": as ip-route(8) has it, without the interface.
  std::string text() const;
  bool operator==(const Route&) const = default;
};

// An interface that stands on another one of this namespace, and is created in the namespace of a pod.
struct NewLink {
  IfName name;
  std::string kind;  // "macvlan", "ipvlan", "ipoib"
  int lower = 0;     // index of the interface that it stands on
  int netns_fd = -1;
  std::optional<MacAddress> mac = std::nullopt;  // no value: the kernel's choice
  std::optional<uint32_t> mtu = std::nullopt;    // no value: that of the lower one
  uint32_t mode = 0;                             // MACVLAN_MODE_*, IPVLAN_MODE_*
  uint16_t pkey = 0;                             // of ipoib: its partition
  bool up = true;
};

// Packets from `source` are routed by `table` (ip-rule(8)).
struct RoutingRule {
  IpAddress source;      // prefix 0: from all
  uint32_t table = 254;  // RT_TABLE_MAIN; 0 for a rule that names none (goto, prohibit, ...)
  uint32_t priority = 0;
  bool operator==(const RoutingRule&) const = default;
};

// An RDMA device, as RDMA_NLDEV_CMD_GET reports it (rdma_netlink.h).
struct RdmaDevice {
  uint32_t index = 0;
  RdmaName name;
  uint64_t node_guid = 0;
  // Whether the name can be part of a path. A pod can choose any characters (ib_device_rename()).
  bool has_sound_name() const { return RdmaName::parse(name).has_value(); }
  bool operator==(const RdmaDevice&) const = default;
};

// What an interface has received and sent since it exists.
struct TrafficCounters {
  uint64_t rx_packets = 0;
  uint64_t tx_packets = 0;
  uint64_t rx_bytes = 0;
  uint64_t tx_bytes = 0;
  uint64_t rx_dropped = 0;
  uint64_t tx_dropped = 0;
  bool operator==(const TrafficCounters&) const = default;
};

// Of one VF, as its PF's driver reports it (IFLA_VF_STATS). All zero also if it reports nothing
// (rtnl_fill_vfinfo()).
struct VfTraffic {
  uint32_t vf = 0;
  TrafficCounters traffic;
};

struct LinkTraffic {
  int index = 0;
  std::string parent_device;  // as in Link
  TrafficCounters traffic;
};

struct NamedCounter {
  std::string name;  // "rcvd_pkts"
  uint64_t value = 0;
};

enum class RdmaNetnsMode : uint8_t { shared, exclusive };

class Kernel {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  // The namespace this object speaks of; the fd serves LinkChange::netns_fd and move_rdma_device().
  virtual NetnsId netns_id() const = 0;
  virtual int netns_fd() const = 0;

  // By name or alternative name. No value if there is none.
  virtual Result<std::optional<Link>> find_link(std::string_view name) = 0;
  virtual Result<std::optional<Link>> find_link(int index) = 0;
  // Every link: a dump under RTNL, without VF data. For the daemon and for rare searches, not for each ADD.
  virtual Result<std::vector<Link>> links() = 0;
  virtual Result<> change_link(int index, const LinkChange& change) = 0;
  // By its present name or an alternative one, in one step: whichever link has it at that moment. `wanted`
  // can have "%d", for the lowest free number. ENODEV if none has it, EEXIST if `wanted` is in use, EBUSY
  // before Linux 6.2 if the link is up (dev_change_name() in net/core/dev.c).
  virtual Result<> rename_link(const IfName& now, std::string_view wanted) = 0;
  virtual Result<> add_altname(int index, std::string_view name) = 0;
  virtual Result<> remove_altname(int index, std::string_view name) = 0;
  // Creates an interface, up, in one message (RTM_NEWLINK). EEXIST if its namespace has the name;
  // EOPNOTSUPP without the module of its kind.
  virtual Result<> add_link(const NewLink& wanted) = 0;
  // Removes virtual links, all at once if there are several: the kernel waits some 10 ms for each message,
  // not for each link (unregister_netdevice_many()). Missing ones are not an error. EOPNOTSUPP for hardware.
  virtual Result<> remove_links(const std::vector<int>& indices) = 0;
  // This namespace's number for another (ip-netns(8) list-id). No value: it has none for it.
  virtual Result<std::optional<int>> nsid_of(int netns_fd) = 0;
  // Detaches the BPF programs that survive a move: XDP and tcx. A sentence for each. Filters and qdiscs end
  // with a move (dev_shutdown() in __dev_change_net_namespace()). EPERM without CAP_NET_ADMIN, and
  // CAP_SYS_ADMIN for those that a bpf_link holds.
  virtual Result<std::vector<std::string>> detach_programs(const Link& link) = 0;
  // What stands on the link with that index, in whichever namespace (read_upper_links()).
  virtual Result<UpperLinks> upper_links(int index, const UpperOffsets& offsets) = 0;
  // The number of the kernel's ethtool interface, which stays the same until the next boot; no value if this
  // kernel has none (before 5.6).
  virtual Result<std::optional<uint16_t>> ethtool_family() = 0;
  // The settings of one group. No value if the driver has no such group. ENODEV if there is no such link.
  virtual Result<std::optional<EthtoolSettings>> ethtool(uint16_t family, int link, EthtoolGroup group) = 0;
  // Sets what `change` has; for bits, those of its mask.
  virtual Result<> change_ethtool(uint16_t family, int link, EthtoolGroup group,
                                  const EthtoolSettings& change) = 0;
  // Every VF of the PF with that link. The kernel queries the driver for each of them, under RTNL and often
  // through firmware: 1-2 ms for each VF.
  virtual Result<std::vector<VfReport>> vfs(int pf_link) = 0;
  // The settings of VF number `vf`, which costs what vfs() costs. No value if the PF has no such VF.
  Result<std::optional<VfSettings>> vf_settings(int pf_link, uint32_t vf) {
    auto all = vfs(pf_link);
    if (!all) return std::move(all).error();
    for (VfReport& one : *all) {
      if (one.vf == vf) return std::optional<VfSettings>(std::move(one.settings));
    }
    return std::optional<VfSettings>();
  }
  // One RTM_SETLINK. do_setvfinfo() applies them in the order of VfSettings and stops at the first that the
  // driver refuses; those before it stay applied.
  virtual Result<> change_vf(int pf_link, uint32_t vf, const VfSettings& change) = 0;
  // The traffic of every VF of the PF, whichever namespaces the VFs are in. Costs what vfs() costs.
  virtual Result<std::vector<VfTraffic>> vf_traffic(int pf_link) = 0;
  // The traffic of every link: a dump under RTNL, without VF data.
  virtual Result<std::vector<LinkTraffic>> link_traffic() = 0;
  // Calls `ready` at once and after each link change of this namespace until it returns true or fails.
  // Errc::timeout when the deadline passes first. Waits for notifications, it does not poll.
  virtual Result<> wait_for_link(Deadline deadline, const std::function<Result<bool>()>& ready) = 0;

  Result<> add_address(int link, const IpAddress& address) {
    return add_address(link, address, AddressSettings::usual(address));
  }
  // EEXIST if the link has it.
  virtual Result<> add_address(int link, const IpAddress& address, const AddressSettings& settings) = 0;
  virtual Result<std::vector<LinkAddress>> addresses(int link) = 0;
  // Returns when no IPv6 address of the link is tentative any more, or at the deadline; reads the addresses
  // then.
  virtual Result<std::vector<LinkAddress>> wait_for_dad(int link, Deadline deadline) = 0;
  virtual Result<> add_route(const Route& route) = 0;
  // The routes of all tables and both families; link 0 means routes of every link.
  virtual Result<std::vector<Route>> routes(int link) = 0;
  // The routes of prefix length 0, of every link; other routes take no memory, however many there are.
  virtual Result<std::vector<Route>> default_routes() = 0;
  // The kernel chooses the priority: before all others but the local table's.
  virtual Result<> add_rule(const IpAddress& source, uint32_t table) = 0;
  // The rules of both families.
  virtual Result<std::vector<RoutingRule>> rules() = 0;
  virtual Result<> remove_rule(const RoutingRule& rule) = 0;
  // Files below /proc/sys/net of this namespace: "ipv6/conf/net1/disable_ipv6". No value if it does not
  // exist.
  virtual Result<std::optional<std::string>> read_sysctl(std::string_view name) = 0;
  virtual Result<> write_sysctl(std::string_view name, std::string_view value) = 0;
  // A folder with sysfs as this namespace has it, where "class/infiniband" has its RDMA devices; it exists as
  // long as this object. No value if the kernel shows it through a mount point only (before 5.2).
  virtual Result<std::optional<std::string>> sysfs() = 0;

  // Has the kernel ask for an IPv4 address that the link has itself, at once and, unanswered, twice more a
  // second apart (RTM_NEWNEIGH with NTF_USE, neigh_event_send()): a gratuitous ARP, from the first address of
  // each subnet. A packet socket could do it as well, but closing it waits for an RCU grace period, some 10
  // ms (packet_release()).
  virtual Result<> announce(int link, const IpAddress& address) = 0;

  // No value if the kernel has no RDMA subsystem loaded.
  virtual Result<std::optional<RdmaNetnsMode>> rdma_netns_mode() = 0;
  virtual Result<std::optional<RdmaDevice>> find_rdma_device(std::string_view name) = 0;
  // Not an atomic snapshot: the kernel sends one device per message and counts from the start for each
  // (ib_enum_all_devs()), so one can be missing while another leaves the namespace. Callers that miss a
  // device list again.
  virtual Result<std::vector<RdmaDevice>> rdma_devices() = 0;
  // The hardware counters of a port, from 1 on (RDMA_NLDEV_CMD_STAT_GET). EINVAL if there is no such port, or
  // its driver has none.
  virtual Result<std::vector<NamedCounter>> rdma_counters(uint32_t index, uint32_t port) = 0;
  // Exclusive mode only. The device gets new uverbs and umad numbers, the lowest free ones
  // (ib_uverbs_add_one()). EEXIST since Linux 7, if the namespace has one of its name.
  virtual Result<> move_rdma_device(uint32_t index, int netns_fd) = 0;
  // EEXIST if any device of the node has the name (ib_device_rename()); since Linux 7, any of this namespace.
  virtual Result<> rename_rdma_device(uint32_t index, std::string_view name) = 0;
};

}  // namespace vfrail
