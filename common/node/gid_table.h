// The GID table of a port of an RDMA device, as sysfs shows it: where the RoCE v2 GID of an address is. Reads
// only.
//
// The kernel fills it in this order (ib_core's roce_gid_mgmt.c): default GIDs, made of the MAC, one for each
// RoCE type that the port has, at the front; then each further address of the interface, and of what stands
// on it, takes the first free entry, once for each type, v1 before v2. The entries come a moment after the
// addresses.
#pragma once

#include "common/ip_address.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// "fe80::/64", as default GIDs are (make_default_gid()); no router forwards it.
bool is_link_local(const IpAddress& gid);
// 10.0.0.2 of ::ffff:10.0.0.2; no value for others.
std::optional<IpAddress> ipv4_of(const IpAddress& gid);
// The address of an attachment whose GID is recorded: the first of IPv4, else the first.
std::optional<IpAddress> first_for_gid(const std::vector<IpAddress>& addresses);

// An entry of a port's table that is in use.
struct Gid {
  uint32_t index = 0;
  IpAddress address;     // of IPv4 addresses the mapped one, ::ffff:10.0.0.2
  int roce_version = 0;  // 1, 2; 0: the port is not an Ethernet port, or it cannot be read
  std::string netdev;    // whose address it is
};
// All entries in use, by index. `port` is the folder of the port: ".../infiniband/mlx5_2/ports/1".
Result<std::vector<Gid>> read_gids(const SysRoot& port);

struct WantedGid {
  IpAddress address;
  std::string netdev;  // the interface that has it, by its name in the namespace of the RDMA device
};

struct GidPlace {
  uint32_t index = 0;
  // Where the GID is if nothing but default GIDs was there before it.
  uint32_t expected = 0;
  // What is at `expected` instead: "fe80::1 of net1 (RoCE v1)"; empty if nothing is there any more.
  std::string in_the_way = {};
};

// The first entries of a table are enough for the addresses of a pod; drivers have 1024 and more.
inline constexpr uint32_t kFirstGids = 16;
inline constexpr uint32_t kAllGids = 4096;

struct GidSearch {
  bool has_table = false;  // false: this namespace does not show the device, or it has no GIDs
  // An iWARP device has one GID, which is its MAC, and addresses make none (irdma, erdma, siw).
  bool of_addresses = true;
  std::optional<GidPlace> place = std::nullopt;
};

// Searches the GID of an address; reads as few files as it can.
Result<GidSearch> find_gid(const SysRoot& port, const WantedGid& wanted, uint32_t entries);

}  // namespace vfrail
