// What stands upon a network interface (VLAN, macvlan, ipvlan, a bond, ...), in whichever network namespace.
// The kernel has the list (net_device.adj_list.upper; each driver of such interfaces calls
// netdev_upper_dev_link()), and shows of it what is in the same namespace only (upper_* in sysfs,
// netdev_adjacent_is_neigh_list()). A BPF program reads it here: it runs once, on a packet that nobody sends
// (BPF_PROG_TEST_RUN), reads memory by bpf_probe_read_kernel(), which cannot harm, and ends with the call.
// What it costs does not depend on how many namespaces and processes the node has.
#pragma once

#include "common/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail {

struct UpperLink {
  int index = 0;
  uint64_t netns = 0;  // inode number of its namespace (NetnsId::inode)
  bool operator==(const UpperLink&) const = default;
};

struct UpperLinks {
  static constexpr size_t kMost = 8;
  std::vector<UpperLink> links;  // kMost of them at most
  bool more = false;             // there are more
  bool operator==(const UpperLinks&) const = default;
};

// Where the program finds what it reads, in bytes. They differ from kernel to kernel, and are the same until
// the next boot.
struct UpperOffsets {
  uint32_t packet_device = 0;   // sk_buff.dev
  uint32_t uppers = 0;          // net_device.adj_list.upper
  uint32_t index = 0;           // net_device.ifindex
  uint32_t netns = 0;           // net_device.nd_net
  uint32_t netns_inode = 0;     // net.ns.inum
  uint32_t adjacent = 0;        // netdev_adjacent.dev
  uint32_t adjacent_entry = 0;  // netdev_adjacent.list
  bool operator==(const UpperOffsets&) const = default;
};

// From the content of /sys/kernel/btf/vmlinux. Errc::unsupported if this kernel's structures have no such
// members, Errc::protocol if it cannot be read.
Result<UpperOffsets> find_upper_offsets(std::string btf);

// Of the interface with that index in the namespace of the calling thread. CAP_SYS_ADMIN, or CAP_BPF,
// CAP_PERFMON and CAP_NET_ADMIN. Errc::denied without them and where the kernel is locked down
// (kernel_lockdown(7), confidentiality), Errc::not_found if there is no such interface, Errc::unsupported
// before Linux 5.9.
Result<UpperLinks> read_upper_links(int index, const UpperOffsets& offsets);

}  // namespace vfrail
