#include "cni/in_pod/traffic/traffic_channel.h"

#include "cni/in_pod/traffic/traffic_message.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace vfrail::pod {

namespace {

// A signal that comes just before poll() is noticed this late.
constexpr double kSlice = 0.2;
constexpr int kSocketFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Error from_last_errno(const std::string& what) { return Error::from_errno(errno, what); }

// Until the socket has one of these events.
Result<> wait_for(const UniqueFd& socket, short events, double until, const TrafficClock& clock) {
  for (;;) {
    if (clock.is_stopped()) return Error{Errc::peer, 0, "interrupted"};
    const double left = until - clock.seconds();
    if (left <= 0) return Error{Errc::timeout, 0, "nothing came in time"};
    pollfd one{socket.get(), events, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min(left, kSlice) * 1000) + 1);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return from_last_errno("poll");
  }
}

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

SocketAddress socket_address(const IpAddress& address, uint16_t port) {
  SocketAddress out;
  if (address.v6()) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::copy(address.bytes.begin(), address.bytes.end(), six.sin6_addr.s6_addr);
    out.size = sizeof six;
    std::memcpy(&out.bytes, &six, sizeof six);
  } else {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, address.bytes.data(), sizeof four.sin_addr);
    out.size = sizeof four;
    std::memcpy(&out.bytes, &four, sizeof four);
  }
  return out;
}

std::string address_text(const sockaddr_storage& from) {
  std::vector<uint8_t> bytes;
  if (from.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &from, sizeof six);
    const uint8_t* begin = six.sin6_addr.s6_addr;
    // A listener on all addresses sees those of IPv4 as mapped ones.
    bytes.assign(begin + (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) ? 12 : 0), begin + 16);
  } else {
    sockaddr_in four{};
    std::memcpy(&four, &from, sizeof four);
    bytes.resize(sizeof four.sin_addr);
    std::memcpy(bytes.data(), &four.sin_addr, bytes.size());
  }
  return IpAddress{bytes, 0}.text();
}

Error unreachable(const TrafficAddress& listener, int error) {
  Error out = Error::from_errno(error, "connect to " + listener.text());
  out.text += error == ECONNREFUSED
                  ? ": no process listens on that port: start vfrail-check --listen in the other pod, "
                    "with the same --port"
                  : ": the address must be one of the other pod's, and a NetworkPolicy "
                    "must let TCP to this port pass";
  return out;
}

Result<UniqueFd> bound(const IpAddress& address, uint16_t port) {
  UniqueFd out(::socket(address.v6() ? AF_INET6 : AF_INET, kSocketFlags, 0));
  if (!out.valid()) return from_last_errno("make a socket");
  const int on = 1, off = 0;
  ::setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.v6()) ::setsockopt(out.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const SocketAddress to = socket_address(address, port);
  if (::bind(out.get(), to.get(), to.size) != 0 || ::listen(out.get(), 4) != 0)
    return from_last_errno("listen on " + TrafficAddress{address, port}.text());
  return out;
}

}  // namespace

std::string TrafficAddress::text() const { return address.text() + " port " + std::to_string(port); }

Result<std::string> TrafficChannel::read_line(double seconds) {
  const double until = clock_->seconds() + seconds;
  for (;;) {
    if (auto line = TRY(take_line())) return *std::move(line);
    TRY(wait_for(socket_, POLLIN, until, *clock_), "wait for the peer");
  }
}

Result<std::optional<std::string>> TrafficChannel::take_line() {
  for (;;) {
    if (const size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return std::optional(std::move(line));
    }
    if (read_.size() >= kMaxTrafficLine) return Error{Errc::protocol, 0, "the peer's line is too long"};
    char buffer[4096];
    const ssize_t got =
        ::recv(socket_.get(), buffer, std::min(sizeof buffer, kMaxTrafficLine - read_.size()), 0);
    if (got == 0) return Error{Errc::peer, 0, "the peer has closed the connection"};
    if (got > 0)
      read_.append(buffer, static_cast<size_t>(got));
    else if (errno == EAGAIN)
      return std::optional<std::string>();
    else if (errno != EINTR)
      return from_last_errno("read from the peer");
  }
}

Result<> TrafficChannel::write(const std::string& line, double seconds) {
  const double until = clock_->seconds() + seconds;
  for (size_t done = 0; done < line.size();) {
    TRY(wait_for(socket_, POLLOUT, until, *clock_), "write to the peer");
    const ssize_t put = ::send(socket_.get(), line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (put >= 0)
      done += static_cast<size_t>(put);
    else if (errno != EAGAIN && errno != EINTR)
      return from_last_errno("write to the peer");
  }
  return {};
}

Result<TrafficChannel> connect_to_listener(const TrafficAddress& listener, double seconds,
                                           const TrafficClock& clock) {
  UniqueFd socket(::socket(listener.address.v6() ? AF_INET6 : AF_INET, kSocketFlags, 0));
  if (!socket.valid()) return from_last_errno("make a socket");
  const SocketAddress to = socket_address(listener.address, listener.port);
  if (::connect(socket.get(), to.get(), to.size) != 0) {
    if (errno != EINPROGRESS) return unreachable(listener, errno);
    const auto waited = wait_for(socket, POLLOUT, clock.seconds() + seconds, clock);
    if (!waited && waited.error().code == Errc::timeout) return unreachable(listener, ETIMEDOUT);
    TRY(waited);
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return unreachable(listener, error);
  }
  return TrafficChannel(std::move(socket), clock);
}

// Both families, or IPv4 alone where the kernel has no IPv6.
Result<TrafficListener> TrafficListener::open(const std::optional<IpAddress>& address, uint16_t port) {
  if (address) return TrafficListener(TRY(bound(*address, port)));
  auto both = bound(IpAddress{std::vector<uint8_t>(16), 0}, port);
  if (both) return TrafficListener(*std::move(both));
  if (both.error().sys == EADDRINUSE) return std::move(both).error();
  return TrafficListener(TRY(bound(IpAddress{std::vector<uint8_t>(4), 0}, port)));
}

Result<std::optional<TrafficListener::Accepted>> TrafficListener::accept(const TrafficClock& clock) {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  UniqueFd peer(
      ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (peer.valid())
    return std::optional(Accepted{TrafficChannel(std::move(peer), clock), address_text(from)});
  // The peer may have gone meanwhile (accept(2): treat network errors as EAGAIN).
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) return from_last_errno("accept a connection");
  return std::optional<Accepted>();
}

}  // namespace vfrail::pod
