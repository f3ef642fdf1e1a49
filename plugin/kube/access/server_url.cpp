#include "plugin/kube/access/server_url.h"

#include "common/text.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

Error not_an_url(std::string_view text, const char* why) {
  return Error{Errc::invalid, 0,
               "\"" + std::string(text) + "\": " + why + "; it is like https://10.0.0.1:6443"};
}

// What stands in a header and in messages: no blanks, no control characters, no user.
bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == ':';
  });
}

bool is_path(std::string_view path) {
  return std::all_of(path.begin(), path.end(),
                     [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; });
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  if (text.starts_with("http://"))
    return Error{Errc::unsupported, 0,
                 "\"" + std::string(text) + "\": without TLS everybody on the way reads the token"};
  if (!text.starts_with(kScheme)) return not_an_url(text, "no https:// at its beginning");
  std::string_view rest = text.substr(kScheme.size());
  ServerUrl out;
  const size_t slash = std::min(rest.find('/'), rest.size());
  out.path = rest.substr(slash);
  while (out.path.ends_with('/')) out.path.pop_back();
  rest = rest.substr(0, slash);
  std::string_view port;
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) return not_an_url(text, "a ] is missing");
    out.host = rest.substr(1, end - 1);
    port = rest.substr(end + 1);
  } else {
    const size_t colon = std::min(rest.find(':'), rest.size());
    out.host = rest.substr(0, colon);
    port = rest.substr(colon);
  }
  if (!is_host(out.host)) return not_an_url(text, "no name or address of a host");
  if (!is_path(out.path)) return not_an_url(text, "a path that a URL cannot have");
  if (port.empty()) return out;
  const auto number = port.front() == ':' ? parse_decimal(port.substr(1)) : std::nullopt;
  if (!number || *number == 0 || *number > 65535) return not_an_url(text, "the port must be 1 to 65535");
  out.port = static_cast<uint16_t>(*number);
  return out;
}

}  // namespace vfrail::kube
