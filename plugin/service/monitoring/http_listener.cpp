#include "plugin/service/monitoring/http_listener.h"

#include "common/errors/error_id.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace vfrail::plugin {

namespace {

constexpr int kBacklog = 128;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Address unix_address(const std::string& path) {
  Address out;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  std::memcpy(&out.storage, &address, sizeof address);
  out.size = sizeof address;
  return out;
}

Address ip_address(const ListenAddress& wanted) {
  Address out;
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, wanted.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(wanted.port);
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.size = sizeof v6;
    return out;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(wanted.port);
  ::inet_pton(AF_INET, wanted.host.c_str(), &v4.sin_addr);
  std::memcpy(&out.storage, &v4, sizeof v4);
  out.size = sizeof v4;
  return out;
}

Result<UniqueFd> make_socket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Error::from_errno(errno, "make a socket");
  return fd;
}

// Not on a kernel that was started with ipv6.disable=1.
bool kernel_has_ipv6() {
  const auto fd = make_socket(AF_INET6);
  return fd || fd.error().sys != EAFNOSUPPORT;
}

Result<> check_free(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    return errno == ENOENT ? Result<>() : Error::from_errno(errno, "read " + path);
  }
  if (!S_ISSOCK(there.st_mode)) {
    return Error{Errc::exists, 0, path + " is there and is not a socket; remove it if it is not needed",
                 ErrorId::endpoint_taken};
  }
  const UniqueFd probe = TRY(make_socket(AF_UNIX));
  const Address address = unix_address(path);
  if (::connect(probe.get(), address.get(), address.size) == 0 || errno == EAGAIN) {
    return Error{Errc::exists, 0, path + " is served by another process; end it, or choose another path",
                 ErrorId::endpoint_taken};
  }
  return {};
}

// Created under another name and renamed, so that it never has another mode.
Result<UniqueFd> listen_at(const std::string& path) {
  TRY(check_free(path));
  const std::string hidden = path.substr(0, path.rfind('/') + 1) + hidden_socket_name();
  UniqueFd fd = TRY(make_socket(AF_UNIX));
  const Address address = unix_address(hidden);
  if (::bind(fd.get(), address.get(), address.size) != 0) return Error::from_errno(errno, "make " + hidden);
  if (::chmod(hidden.c_str(), 0600) != 0 || ::listen(fd.get(), kBacklog) != 0 ||
      ::rename(hidden.c_str(), path.c_str()) != 0) {
    const int failed = errno;
    ::unlink(hidden.c_str());
    return Error::from_errno(failed, "put the socket at " + path);
  }
  return fd;
}

Result<UniqueFd> listen_on(ListenAddress& wanted) {
  Address address = ip_address(wanted);
  UniqueFd fd = TRY(make_socket(address.storage.ss_family));
  const int on = 1;
  const int off = 0;
  // A restart need not wait for the connections of the previous process; [::] is also for IPv4.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.storage.ss_family == AF_INET6)
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), kBacklog) != 0 ||
      ::getsockname(fd.get(), address.get(), &address.size) != 0) {
    return Error::from_errno(errno, "listen on " + wanted.text());
  }
  sockaddr_in bound{};  // sin6_port is at the same place
  std::memcpy(&bound, &address.storage, sizeof bound);
  wanted.port = ntohs(bound.sin_port);
  return fd;
}

}  // namespace

Result<HttpListener> HttpListener::open(ListenAddress address) {
  if (address.path.empty()) {
    if (address.host == "::" && !kernel_has_ipv6()) address.host = "0.0.0.0";
    UniqueFd fd = TRY(listen_on(address));
    return HttpListener(std::move(address), std::move(fd));
  }
  UniqueFd fd = TRY(listen_at(address.path));
  HttpListener out(std::move(address), std::move(fd));
  out.file_ = identify(out.address_.path);
  return out;
}

HttpListener::~HttpListener() {
  // A successor's socket may be there by now.
  if (!address_.path.empty() && identify(address_.path) == file_) ::unlink(address_.path.c_str());
}

int HttpListener::family() const {
  if (!address_.path.empty()) return AF_UNIX;
  return address_.host.find(':') == std::string::npos ? AF_INET : AF_INET6;
}

}  // namespace vfrail::plugin
