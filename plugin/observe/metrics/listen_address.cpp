#include "plugin/observe/metrics/listen_address.h"

#include "common/errors/error_id.h"
#include "common/ip_address.h"

#include <charconv>
#include <optional>

namespace vfrail::plugin {

namespace {

// sun_path of unix(7), without the terminating zero, and with room for the name under which it is made.
constexpr size_t kMaxPath = 107;

Error wrong(std::string_view text) {
  return Error{Errc::invalid, 0,
               "'" + std::string(text) +
                   "' is not one of localhost:PORT, ADDRESS:PORT, [IPV6]:PORT, :PORT, unix:/PATH",
               ErrorId::option_invalid};
}

std::optional<uint16_t> read_port(std::string_view text) {
  uint16_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

}  // namespace

std::string ListenAddress::text() const {
  if (!path.empty()) return "unix:" + path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  ListenAddress out;
  if (text.starts_with("unix:")) {
    out.path = text.substr(5);
    if (!out.path.starts_with('/') || out.path.ends_with('/')) return wrong(text);
    if (out.path.size() > kMaxPath) {
      return Error{Errc::invalid, 0, "a socket's path has at most 107 bytes", ErrorId::option_invalid};
    }
    return out;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong(text);
  const auto port = read_port(text.substr(colon + 1));
  if (!port) return wrong(text);
  out.port = *port;
  std::string_view host = text.substr(0, colon);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host == "localhost" && !brackets) host = "127.0.0.1";
  if (host.empty()) host = "::";
  const auto address = IpAddress::parse(std::string(host));
  // IPv4 in brackets as well: a DaemonSet does not know which of the two its node's address is.
  if (!address || (address->v6() && !brackets && host != "::")) return wrong(text);
  out.host = host;
  out.local = host == "::1" || (!address->v6() && address->bytes[0] == 127);
  return out;
}

}  // namespace vfrail::plugin
