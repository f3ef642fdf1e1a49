#include "plugin/host_network.h"

#include "common/files.h"
#include "common/ip_address.h"

#include <charconv>
#include <cstring>
#include <functional>
#include <optional>

#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>

namespace vfrail {

namespace {

// fib_trie has some 100 bytes a route; a node with more than 200,000 is a router and has netlink.
constexpr size_t kMaxFileBytes = 32 << 20;

std::string default_route(bool v6, uint32_t table) {
  const std::string name = table == RT_TABLE_MAIN ? "main" : std::to_string(table);
  return std::string("the ") + (v6 ? "IPv6" : "IPv4") + " default route (table " + name + ")";
}

void add_once(std::vector<std::string>& list, std::string item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

// Addresses that every interface has, or gives itself, say nothing about its use.
bool says_something(const IpAddress& address) {
  const auto& bytes = address.bytes;
  if (address.v6()) {
    const bool link_local = bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
    return !link_local && bytes[0] != 0xff;
  }
  const bool link_local = bytes[0] == 169 && bytes[1] == 254;
  return !link_local && bytes[0] != 127 && bytes[0] < 224;
}

void each_line(std::string_view text, const std::function<void(std::string_view)>& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  for (size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(" \t", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return out;
}

std::optional<uint32_t> hex(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<IpAddress> hex_ipv6(std::string_view digits, std::string_view prefix) {
  const auto length = hex(prefix);
  if (digits.size() != 32 || !length || *length > 128) return std::nullopt;
  IpAddress out;
  for (size_t at = 0; at < digits.size(); at += 2) {
    const auto byte = hex(digits.substr(at, 2));
    if (!byte) return std::nullopt;
    out.bytes.push_back(static_cast<uint8_t>(*byte));
  }
  out.prefix = static_cast<uint8_t>(*length);
  return out;
}

// One file of the host's proc/1/net. proc/net is a link to the reader's own namespace, which is right only in
// a captured tree, so it comes second.
std::optional<std::string> read_net_file(const SysRoot& sys, const std::string& name, HostNetwork& out) {
  for (const char* folder : {"proc/1/net/", "proc/net/"}) {
    auto text = read_file(sys.path(folder + name), kMaxFileBytes);
    if (text && *text) return **std::move(text);
    if (!text && text.error().code != Errc::not_found) out.warnings.push_back(text.error().text);
  }
  return std::nullopt;
}

HostNetwork read_files(const SysRoot& sys) {
  HostNetwork out;
  struct Source {
    const char* name;
    void (*parse)(std::string_view, HostNetwork&);
    const char* unknown;  // what is not known without it; null if its absence is normal
  };
  // Without IPv6 in the kernel the ipv6 files are not there.
  for (const Source& source : {Source{"route", parse_proc_route, "IPv4 default routes"},
                               Source{"fib_trie", parse_proc_fib_trie, nullptr},
                               Source{"ipv6_route", parse_proc_ipv6_route, nullptr},
                               Source{"if_inet6", parse_proc_if_inet6, nullptr}}) {
    const auto text = read_net_file(sys, source.name, out);
    if (text) source.parse(*text, out);
    if (!text && source.unknown != nullptr) {
      out.warnings.push_back(std::string("the host's ") + source.unknown + " are not known: there is no " +
                             sys.path(std::string("proc/1/net/") + source.name));
    }
  }
  return out;
}

Result<HostNetwork> read_kernel(const SysRoot& sys, Kernel& host) {
  HostNetwork out;
  std::map<int, std::string> names;
  for (const std::string& name : sys.list("sys/class/net")) {
    if (const auto index = sys.number_or_none("sys/class/net/" + name + "/ifindex")) {
      names.emplace(static_cast<int>(*index), name);
    }
  }
  for (const Route& route : TRY(host.routes(0), "read the host's routes")) {
    const auto name = names.find(route.link);
    // Unreachable and blackhole routes have no interface or the loopback one.
    if (route.destination.prefix != 0 || name == names.end() || name->second == "lo") continue;
    add_once(out.default_routes[name->second], default_route(route.destination.v6(), route.table));
  }
  for (const auto& [index, name] : names) {
    const auto addresses = host.addresses(index);
    if (!addresses) continue;  // the interface has just gone
    for (const LinkAddress& entry : *addresses) {
      if (says_something(entry.address)) add_once(out.addresses[name], "address " + entry.address.cidr());
    }
  }
  return out;
}

}  // namespace

// Iface Destination Gateway Flags RefCnt Use Metric Mask ...: addresses are %08X of the number in memory
// (fib_route_seq_show() in net/ipv4/fib_trie.c).
void parse_proc_route(std::string_view text, HostNetwork& out) {
  each_line(text, [&](std::string_view line) {
    const auto columns = words(line);
    if (columns.size() < 8) return;
    const auto destination = hex(columns[1]);
    const auto gateway = hex(columns[2]);
    const auto flags = hex(columns[3]);
    const auto mask = hex(columns[7]);
    const std::string name(columns[0]);
    if (!destination || !gateway || !flags || !mask || (*flags & RTF_REJECT) != 0 || name == "*" ||
        name == "lo") {
      return;
    }
    if (*mask == 0) {
      add_once(out.default_routes[name], default_route(false, RT_TABLE_MAIN));
    } else if (*gateway == 0) {
      IpAddress network;
      network.bytes.resize(4);
      std::memcpy(network.bytes.data(), &*destination, 4);
      network.prefix = static_cast<uint8_t>(__builtin_popcount(*mask));
      if (says_something(network)) add_once(out.addresses[name], "the connected network " + network.cidr());
    }
  });
}

// Destination, its prefix, source, its prefix, next hop, metric, reference count, use, flags, interface
// (rt6_fill_node()'s textual sister in net/ipv6/ip6_fib.c walks every table, but does not print which).
void parse_proc_ipv6_route(std::string_view text, HostNetwork& out) {
  each_line(text, [&](std::string_view line) {
    const auto columns = words(line);
    if (columns.size() < 10) return;
    const auto destination = hex_ipv6(columns[0], columns[1]);
    const auto flags = hex(columns[8]);
    const std::string name(columns[9]);
    if (!destination || !flags || (*flags & RTF_REJECT) != 0 || name == "lo") return;
    if (destination->prefix == 0) add_once(out.default_routes[name], "an IPv6 default route");
  });
}

// Address, index, prefix, scope, flags, interface (if6_seq_show() in net/ipv6/addrconf.c). Scope 0 is global.
void parse_proc_if_inet6(std::string_view text, HostNetwork& out) {
  each_line(text, [&](std::string_view line) {
    const auto columns = words(line);
    if (columns.size() < 6) return;
    const auto address = hex_ipv6(columns[0], columns[2]);
    if (!address || columns[3] != "00" || !says_something(*address)) return;
    add_once(out.addresses[std::string(columns[5])], "address " + address->cidr());
  });
}

// "Main:", "Local:" or "Id 100:" in front of each table, then "|-- 0.0.0.0" and below it "/0 universe
// UNICAST" (fib_trie_seq_show()).
void parse_proc_fib_trie(std::string_view text, HostNetwork& out) {
  std::string table;
  std::string leaf;
  each_line(text, [&](std::string_view line) {
    if (line.starts_with("Id ") && line.ends_with(":")) table = std::string(line.substr(3, line.size() - 4));
    if (line == "Main:" || line == "Local:") table.clear();
    const auto columns = words(line);
    if (columns.size() == 2 && columns[0] == "|--") leaf = std::string(columns[1]);
    const bool is_default =
        columns.size() == 3 && columns[0] == "/0" && columns[2] == "UNICAST" && leaf == "0.0.0.0";
    if (!is_default || table.empty()) return;
    add_once(out.warnings,
             "table " + table +
                 " has an IPv4 default route; its interface cannot be told without the host's network "
                 "namespace, so nothing is left out because of it");
  });
}

HostNetwork read_host_network(const SysRoot& sys, Kernel* host) {
  if (host == nullptr) return read_files(sys);
  auto asked = read_kernel(sys, *host);
  if (asked) return *std::move(asked);
  HostNetwork out = read_files(sys);
  out.warnings.push_back(asked.error().text + "; files are read instead");
  return out;
}

}  // namespace vfrail
