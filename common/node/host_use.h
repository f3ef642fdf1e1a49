// Whether, and why, the host itself needs a network device: the one rule by which the device plugin does not
// advertise it and vfrail-cni does not give it to a pod. Pure: it decides from facts that somebody else has
// read (plugin/device/inventory/host_use from files, cni/node/host_use by netlink), and never reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// One reason, in words.
struct HostUseFact {
  enum class Kind : uint8_t {
    default_route,
    member,
    unseen,  // whether it does cannot be found out
    address,
  };
  Kind kind = Kind::address;
  std::string what;  // "part of bond0 (a bond), which carries the IPv4 default route (table main)"

  bool operator==(const HostUseFact&) const = default;
};

// An interface of the host's network namespace.
struct HostLink {
  std::string kind = {};                         // as ip-link(8) names it: "bond", "vrf"; empty: not known
  std::string master = {};                       // the bond, bridge, ... that it is a member of; empty: none
  std::vector<std::string> uppers = {};          // all that is on it, such as VLANs and its master
  std::vector<std::string> default_routes = {};  // over it, as name_default_route() names them
  std::vector<std::string> addresses = {};       // "address 10.0.0.5/24"
};

// By name; what is missing has no such facts. Of a device its interfaces are needed, and all above them.
using HostLinks = std::map<std::string, HostLink>;

// "the IPv4 default route (table main)"; no table: it is not known.
std::string name_default_route(bool v6, std::optional<uint32_t> table);

// What the host uses a device with these interfaces for. An interface and those on it that would move with it
// (VLAN, macvlan, ...) must not be members of a bond, bridge, team or Open vSwitch; neither they nor anything
// above may carry a default route or have an address. A VRF is above an interface, but does not own it. The
// most important fact is the first one.
std::vector<HostUseFact> find_host_use(const std::vector<std::string>& netdevs, const HostLinks& links);

// Whether the host depends on the device. A mere address is not a reason to keep it from pods.
bool serves_host(const std::vector<HostUseFact>& uses);

}  // namespace vfrail
