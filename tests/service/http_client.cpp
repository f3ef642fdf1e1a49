#include "tests/service/http_client.h"

#include "common/files.h"
#include "common/unique_fd.h"

#include <arpa/inet.h>
#include <cstdlib>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace vfrail::test {
using namespace plugin;

namespace {

template <class Address>
int connect_socket(int family, const Address& address) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(fd.get(), generic, sizeof address) == 0 ? fd.release() : -1;
}

}  // namespace

int connect_to(const ListenAddress& address) {
  if (!address.path.empty()) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address.path.copy(to.sun_path, sizeof to.sun_path - 1);
    return connect_socket(AF_UNIX, to);
  }
  if (address.host.find(':') != std::string::npos) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(address.port);
    ::inet_pton(AF_INET6, address.host.c_str(), &to.sin6_addr);
    return connect_socket(AF_INET6, to);
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  ::inet_pton(AF_INET, address.host.c_str(), &to.sin_addr);
  return connect_socket(AF_INET, to);
}

HttpAnswer send_raw(const ListenAddress& address, const std::string& request) {
  const UniqueFd fd(connect_to(address));
  if (!fd.valid()) return {};
  // The server may have closed already; then the answer says enough.
  (void)::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
  const auto got = read_stream(fd.get(), 64 << 20);
  const size_t end = got ? got->find("\r\n\r\n") : std::string::npos;
  if (end == std::string::npos) return {};
  return {std::atoi(got->c_str() + std::string("HTTP/1.1 ").size()), got->substr(0, end),
          got->substr(end + 4)};
}

HttpAnswer get(const ListenAddress& address, const std::string& path) {
  return send_raw(address, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
}

}  // namespace vfrail::test
