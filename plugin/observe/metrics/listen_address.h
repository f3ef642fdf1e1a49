// ListenAddress: the value of --metrics-address and of --probe-address. Pure.
#pragma once

#include "common/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace vfrail::plugin {

struct ListenAddress {
  std::string path;  // of a unix socket; empty: TCP
  std::string host;  // "127.0.0.1", "::1", "0.0.0.0"
  uint16_t port = 0;
  bool local = true;  // nobody outside this machine can connect

  std::string text() const;  // as parse_listen_address() accepts it
};

// "localhost:PORT" (127.0.0.1), "127.0.0.1:PORT", "[::1]:PORT", "unix:/PATH", another numeric address, or
// ":PORT" (every address). IPv6 needs the brackets, IPv4 may have them. PORT 0 lets the kernel choose.
// Errc::invalid for anything else.
Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace vfrail::plugin
