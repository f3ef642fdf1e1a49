// HostNetwork: which interfaces of the host's network namespace carry default routes and addresses. Reads;
// host_use and pools decide what follows.
#pragma once

#include "common/errors/warning.h"
#include "common/kernel/kernel.h"
#include "common/node/sys_root.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

struct HostNetwork {
  // By interface, as name_default_route() names them.
  std::map<std::string, std::vector<std::string>> default_routes;
  // By interface: "address 10.0.0.5/24"; from files, which lack the address, "the connected network
  // 10.0.0.0/24".
  std::map<std::string, std::vector<std::string>> addresses;
  std::vector<Warning> warnings;
};

// Over netlink if there is a kernel to query, else from proc/1/net below the root, in little memory and in a
// time that does not grow faster than the number of routes. Files that exist and cannot be read are an error:
// another namespace's routes would be wrong, and without any the uplink would be advertised.
// `interfaces`: netlink is asked about these alone, each of which costs some system calls; null: all.
Result<HostNetwork> read_host_network(const SysRoot& sys, Kernel* host,
                                      const std::set<std::string>* interfaces = nullptr);

// The directly connected IPv4 networks of the main table, by interface; from the file. No value: there is
// none.
using ConnectedNetworks = std::map<std::string, std::vector<IpAddress>>;
Result<std::optional<ConnectedNetworks>> read_connected_networks(const SysRoot& sys);

// The files, each a pure function of its text.
void parse_proc_route(std::string_view text, HostNetwork& out);       // IPv4, main table
void parse_proc_ipv6_route(std::string_view text, HostNetwork& out);  // IPv6, all tables
void parse_proc_if_inet6(std::string_view text, HostNetwork& out);
// Has no interface names, so a default route of another table can only be warned about.
void parse_proc_fib_trie(std::string_view text, HostNetwork& out);

}  // namespace vfrail::plugin
