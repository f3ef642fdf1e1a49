// Anonymous: replaces what identifies a machine by made-up values: MAC addresses, GUIDs, IP addresses. Equal
// values stay equal, and the facts that vfrail uses (is there a default route, is an address link-local) stay
// true. Pure, except that it remembers what it has replaced.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace vfrail::plugin {

class Anonymous {
 public:
  // The replacement of a MAC address or GUID of any length, with the separators of the original:
  // "52:54:00:41:10:02" -> "02:00:00:00:00:01". What is all zero stays.
  std::string hardware(std::string_view text);

  // The text of a kernel message with its MAC addresses, GIDs and IP addresses replaced. PCI addresses stay.
  std::string message(std::string_view text);

  // The files of proc/1/net that host_network.h reads. Addresses become those for documentation (RFC 5737,
  // RFC 3849); of fib_trie only tables and default routes stay.
  static std::string route(std::string_view text);
  static std::string ipv6_route(std::string_view text);
  static std::string if_inet6(std::string_view text);
  static std::string fib_trie(std::string_view text);

 private:
  std::map<std::string, std::string, std::less<>> known_;
};

}  // namespace vfrail::plugin
