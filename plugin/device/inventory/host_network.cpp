#include "plugin/device/inventory/host_network.h"

#include "common/errors/error_id.h"
#include "common/ip_address.h"
#include "common/node/host_use.h"
#include "common/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <unistd.h>

#include <linux/if_addr.h>
#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <linux/rtnetlink.h>

namespace vfrail::plugin {

namespace {

// The kernel walks the routes from the first one for each page of fib_trie and ipv6_route
// (fib_trie_get_idx(), ipv6_route_seq_start()), so their time grows with the square of their number: 30,000
// IPv6 routes take more than a minute. proc/net/route continues where it was (fib_route_get_idx()): 30,000
// routes take 26 ms.
constexpr size_t kMaxTrieBytes = 256 << 10;
constexpr uint32_t kMaxIpv6Routes = 2000;
// A line of these files has at most 200 bytes.
constexpr size_t kMaxLineBytes = 4096;
// Of one interface; more would add nothing about its use.
constexpr size_t kMaxFacts = 32;

template <class Text>
void add_once(std::vector<Text>& list, Text item) {
  if (list.size() >= kMaxFacts) return;
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

// Addresses that every interface has, or assigns to itself, are not a use by the host.
bool is_relevant(const IpAddress& address) {
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

Warning unknown_routes(const std::string& what) { return {what, ErrorId::host_routes_unknown}; }

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

// "Main:", "Local:" or "Id 100:" in front of each table, then "|-- 0.0.0.0" and below it "/0 universe
// UNICAST" (fib_trie_seq_show()).
class TrieReader {
 public:
  explicit TrieReader(HostNetwork& out) : out_(out) {}

  void add(std::string_view line) {
    if (line.starts_with("Id ") && line.ends_with(":")) table_ = std::string(line.substr(3, line.size() - 4));
    if (line == "Main:" || line == "Local:") table_.clear();
    const auto columns = words(line);
    if (columns.size() == 2 && columns[0] == "|--") leaf_ = std::string(columns[1]);
    const bool is_default =
        columns.size() == 3 && columns[0] == "/0" && columns[2] == "UNICAST" && leaf_ == "0.0.0.0";
    if (!is_default || table_.empty()) return;
    add_once(
        out_.warnings,
        unknown_routes("table " + table_ +
                       " has an IPv4 default route; its interface is not known without the host's network "
                       "namespace (with hostNetwork: true it is), so nothing is left out because of it"));
  }

 private:
  HostNetwork& out_;
  std::string table_;
  std::string leaf_;
};

// Where the host's files are. proc/net is a link to the reader's own namespace, which is the host's only in a
// captured tree, and that may have no proc/1. A proc/1 that cannot be read is an error, and so is one that a
// living procfs hides (hidepid, proc(5)).
Result<std::string> net_folder(const SysRoot& sys) {
  if (TRY(sys.exists("proc/1"))) return std::string("proc/1/net/");
  if (TRY(sys.exists("proc/self"))) {
    return Error{Errc::denied, 0,
                 sys.path("proc/1") + " is hidden from this process: is procfs mounted with hidepid?"};
  }
  return std::string(TRY(sys.exists("proc/net")) ? "proc/net/" : "proc/1/net/");
}

// Calls `visit` with each line, until it returns false: a file of a router has tens of megabytes, and is
// never in memory as a whole. False: the file does not exist.
Result<bool> read_lines(const std::string& path, const std::function<bool(std::string_view)>& visit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (!fd.valid()) return Error::from_errno(errno, "open " + path);
  std::string rest;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, "read " + path);
    if (got == 0) break;
    rest.append(buffer, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      if (!visit(std::string_view(rest).substr(begin, end - begin))) return true;
      begin = end + 1;
    }
    rest.erase(0, begin);
    if (rest.size() > kMaxLineBytes) return Error{Errc::protocol, 0, path + " has a line of more than 4 KiB"};
  }
  if (!rest.empty()) visit(rest);
  return true;
}

using ParseLine = void (*)(std::string_view, HostNetwork&);

Result<bool> read_file_by_lines(const std::string& path, ParseLine parse, HostNetwork& out) {
  return read_lines(path, [&](std::string_view line) {
    parse(line, out);
    return true;
  });
}

// Only what precedes the main table, which proc/net/route has and which is the long one. The kernel walks its
// 256 lists of tables (fib_seq_show()): main and local, 254 and 255, are the last ones.
Result<> read_other_tables(const std::string& path, HostNetwork& out) {
  TrieReader reader(out);
  size_t bytes = 0;
  TRY(read_lines(path, [&](std::string_view line) {
    bytes += line.size() + 1;
    if (bytes <= kMaxTrieBytes) return line != "Main:" && (reader.add(line), true);
    out.warnings.push_back(unknown_routes("a routing table beside main is too long to be read in " + path +
                                          ": default routes of further tables are not known; with "
                                          "hostNetwork: true they are"));
    return false;
  }));
  return {};
}

// The fourth number of rt6_stats: routes in all tables, hexadecimal (rt6_stats_seq_show()). No value if the
// kernel has no IPv6.
Result<std::optional<uint32_t>> count_ipv6_routes(const std::string& path) {
  std::optional<uint32_t> out;
  TRY(read_lines(path, [&](std::string_view line) {
    const auto columns = words(line);
    if (columns.size() > 3) out = hex(columns[3]);
    return false;
  }));
  return out;
}

Result<> read_ipv6_routes(const std::string& folder, HostNetwork& out) {
  const auto count = TRY(count_ipv6_routes(folder + "rt6_stats"));
  if (count.value_or(0) > kMaxIpv6Routes) {
    // Without their number, which changes all the time and would make another line of the log of it.
    out.warnings.push_back(
        unknown_routes("the host has too many IPv6 routes to be read in " + folder +
                       "ipv6_route: IPv6 default routes are not known; with hostNetwork: true they are"));
    return {};
  }
  TRY(read_file_by_lines(folder + "ipv6_route", parse_proc_ipv6_route, out));
  return {};
}

// Without IPv6 in the kernel the ipv6 files do not exist; without IPv4's the guard would not work.
Result<HostNetwork> read_files(const SysRoot& sys) {
  HostNetwork out;
  const std::string folder = sys.path(TRY(net_folder(sys)));
  if (!TRY(read_file_by_lines(folder + "route", parse_proc_route, out))) {
    out.warnings.push_back(
        unknown_routes("the host's IPv4 default routes are not known: there is no " + folder + "route"));
  }
  TRY(read_other_tables(folder + "fib_trie", out));
  TRY(read_ipv6_routes(folder, out));
  TRY(read_file_by_lines(folder + "if_inet6", parse_proc_if_inet6, out));
  return out;
}

Result<HostNetwork> read_kernel(const SysRoot& sys, Kernel& host, const std::set<std::string>* interfaces) {
  HostNetwork out;
  std::map<int, std::string> names;
  const auto wanted = interfaces != nullptr ? SysRoot::Names(interfaces->begin(), interfaces->end())
                                            : TRY(sys.list("sys/class/net")).value_or(SysRoot::Names());
  for (const std::string& name : wanted) {
    if (const auto index = TRY(sys.number("sys/class/net/" + name + "/ifindex"))) {
      names.emplace(static_cast<int>(*index), name);
    }
  }
  for (const Route& route : TRY(host.default_routes(), "read the host's default routes")) {
    const auto name = names.find(route.link);
    // Unreachable and blackhole routes have no interface or the loopback one.
    if (name == names.end() || name->second == "lo") continue;
    add_once(out.default_routes[name->second], name_default_route(route.destination.v6(), route.table));
  }
  for (const auto& [index, name] : names) {
    auto addresses = host.addresses(index);
    if (!addresses && addresses.error().sys == ENODEV) continue;  // the interface has just gone
    for (const LinkAddress& entry : TRY(std::move(addresses), "read the addresses of " + name)) {
      if (is_relevant(entry.address) && !entry.temporary)
        add_once(out.addresses[name], "address " + entry.address.cidr());
    }
  }
  return out;
}

struct ProcRoute {
  std::string interface;
  IpAddress destination;
  bool by_gateway = false;
};

// Iface Destination Gateway Flags RefCnt Use Metric Mask ...: addresses are %08X of the number in memory
// (fib_route_seq_show() in net/ipv4/fib_trie.c). No value: not a route of an interface.
std::optional<ProcRoute> parse_route_line(std::string_view line) {
  const auto columns = words(line);
  if (columns.size() < 8 || columns[0] == "*" || columns[0] == "lo") return std::nullopt;
  const auto destination = hex(columns[1]);
  const auto gateway = hex(columns[2]);
  const auto flags = hex(columns[3]);
  const auto mask = hex(columns[7]);
  if (!destination || !gateway || !flags || !mask || (*flags & RTF_REJECT) != 0) return std::nullopt;
  ProcRoute out{.interface = std::string(columns[0]), .destination = {}, .by_gateway = *gateway != 0};
  out.destination.bytes.resize(4);
  std::memcpy(out.destination.bytes.data(), &*destination, 4);
  out.destination.prefix = static_cast<uint8_t>(__builtin_popcount(*mask));
  return out;
}

bool is_connected_network(const ProcRoute& route) {
  return route.destination.prefix != 0 && !route.by_gateway && is_relevant(route.destination);
}

}  // namespace

void parse_proc_route(std::string_view text, HostNetwork& out) {
  each_line(text, [&](std::string_view line) {
    const auto route = parse_route_line(line);
    if (!route) return;
    if (route->destination.prefix == 0)
      add_once(out.default_routes[route->interface], name_default_route(false, RT_TABLE_MAIN));
    else if (is_connected_network(*route))
      add_once(out.addresses[route->interface], "the connected network " + route->destination.cidr());
  });
}

Result<std::optional<ConnectedNetworks>> read_connected_networks(const SysRoot& sys) {
  ConnectedNetworks out;
  const bool there = TRY(read_lines(sys.path(TRY(net_folder(sys))) + "route", [&](std::string_view line) {
    const auto route = parse_route_line(line);
    if (!route || !is_connected_network(*route)) return true;
    auto& networks = out[route->interface];
    if (networks.size() < kMaxFacts) networks.push_back(route->destination);
    return true;
  }));
  return there ? std::optional(std::move(out)) : std::nullopt;
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
    if (destination->prefix == 0) add_once(out.default_routes[name], name_default_route(true, std::nullopt));
  });
}

// Address, index, prefix, scope, flags, interface (if6_seq_show() in net/ipv6/addrconf.c). Scope 0 is global.
// Temporary addresses change by themselves, and there is always a lasting one beside them (RFC 8981).
void parse_proc_if_inet6(std::string_view text, HostNetwork& out) {
  each_line(text, [&](std::string_view line) {
    const auto columns = words(line);
    if (columns.size() < 6) return;
    const auto address = hex_ipv6(columns[0], columns[2]);
    const auto flags = hex(columns[4]);
    if (!address || columns[3] != "00" || !is_relevant(*address)) return;
    if (flags && (*flags & IFA_F_TEMPORARY) != 0) return;
    add_once(out.addresses[std::string(columns[5])], "address " + address->cidr());
  });
}

void parse_proc_fib_trie(std::string_view text, HostNetwork& out) {
  TrieReader reader(out);
  each_line(text, [&](std::string_view line) { reader.add(line); });
}

Result<HostNetwork> read_host_network(const SysRoot& sys, Kernel* host,
                                      const std::set<std::string>* interfaces) {
  if (host == nullptr) return TRY(read_files(sys), "read the host's routes and addresses");
  auto asked = read_kernel(sys, *host, interfaces);
  if (asked) return asked;
  HostNetwork out = TRY(read_files(sys), asked.error().text + "; read the host's routes from files instead");
  out.warnings.push_back(unknown_routes(asked.error().text + "; files are read instead"));
  return out;
}

}  // namespace vfrail::plugin
