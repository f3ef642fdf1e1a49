// One HTTP request over a real socket, for tests; written by hand so that it can also be wrong.
#pragma once

#include "plugin/observe/metrics/listen_address.h"

#include <string>

namespace vfrail::test {
using namespace plugin;

struct HttpAnswer {
  int status = 0;  // 0: the connection ended without an answer
  std::string head;
  std::string body;
};

// Connects; -1 with errno if that fails. The caller closes it.
int connect_to(const ListenAddress& address);
// Sends `request` as it is, and reads until the server closes.
HttpAnswer send_raw(const ListenAddress& address, const std::string& request);
HttpAnswer get(const ListenAddress& address, const std::string& path);

}  // namespace vfrail::test
