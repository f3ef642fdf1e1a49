#include "plugin/kube/node/socket_server.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace vfrail::kube {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// A thread for each connection that may be open: serve asks for the claims of several pods at once.
constexpr size_t kMaxConnections = 16;
constexpr int kBacklog = 128;  // of those that wait for a thread
constexpr uint32_t kMaxHeaderBytes = 8 * 1024;
// For the whole request, and for the whole answer: a client that sends a byte now and then does not extend
// it.
constexpr std::chrono::seconds kTransferTime{10};
// No descriptor is left, say: another turn would not find one at once either.
constexpr milliseconds kAcceptPause{200};

// What Boost.Beast calls a SyncStream, with one deadline for all that it reads.
class TimedSocket {
 public:
  explicit TimedSocket(int fd) : fd_(fd), deadline_(Clock::now() + kTransferTime) {}

  template <class Buffers>
  size_t read_some(const Buffers& buffers, error_code& failed) {
    const asio::mutable_buffer buffer = *asio::buffer_sequence_begin(buffers);
    if (buffer.size() == 0) return 0;
    for (;;) {
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got > 0) return static_cast<size_t>(got);
      if (got == 0)
        failed = asio::error::eof;
      else if (errno == EINTR || (errno == EAGAIN && wait(POLLIN, failed)))
        continue;
      else if (!failed)
        failed = error_code(errno, boost::system::system_category());
      return 0;
    }
  }
  template <class Buffers>
  size_t read_some(const Buffers& buffers) {
    error_code failed;
    const size_t got = read_some(buffers, failed);
    if (failed) throw boost::system::system_error(failed);
    return got;
  }

  void write(std::string_view text) {
    error_code failed;
    deadline_ = Clock::now() + kTransferTime;
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent > 0)
        text.remove_prefix(static_cast<size_t>(sent));
      else if (errno != EINTR && (errno != EAGAIN || !wait(POLLOUT, failed)))
        return;
    }
  }

 private:
  bool wait(short events, error_code& failed) const {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now()).count();
    pollfd one{fd_, events, 0};
    if (left > 0 && ::poll(&one, 1, static_cast<int>(left)) != 0) return true;
    failed = asio::error::timed_out;
    return false;
  }

  const int fd_;
  Clock::time_point deadline_;
};

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof out.sun_path)
    return Error{Errc::invalid, 0,
                 "\"" + path + "\": the path of a socket has 1 to " +
                     std::to_string(sizeof out.sun_path - 1) + " characters"};
  path.copy(out.sun_path, path.size());
  return out;
}

Result<UniqueFd> make_socket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Error::from_errno(errno, "make a socket");
  return fd;
}

const sockaddr* pointer_to(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

Result<> check_free(const std::string& path, const sockaddr_un& address) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0)
    return errno == ENOENT ? Result<>() : Error::from_errno(errno, "read " + path);
  if (!S_ISSOCK(there.st_mode))
    return Error{Errc::exists, 0, path + " is there and is not a socket; remove it if it is not needed"};
  const UniqueFd probe = TRY(make_socket());
  if (::connect(probe.get(), pointer_to(address), sizeof address) == 0 || errno == EAGAIN)
    return Error{Errc::exists, 0, path + " is served by another process; end it, or choose another path"};
  return {};
}

// Made under another name and renamed, so that it never has another mode.
Result<UniqueFd> listen_at(const std::string& path) {
  const sockaddr_un address = TRY(address_of(path));
  TRY(check_free(path, address));
  const std::string hidden = path + ".new";
  const sockaddr_un hidden_address = TRY(address_of(hidden));
  ::unlink(hidden.c_str());
  UniqueFd fd = TRY(make_socket());
  if (::bind(fd.get(), pointer_to(hidden_address), sizeof hidden_address) != 0)
    return Error::from_errno(errno, "make the socket " + hidden);
  if (::chmod(hidden.c_str(), 0600) != 0 || ::listen(fd.get(), kBacklog) != 0 ||
      ::rename(hidden.c_str(), path.c_str()) != 0) {
    const int failed = errno;
    ::unlink(hidden.c_str());
    return Error::from_errno(failed, "put the socket at " + path);
  }
  return fd;
}

uint64_t inode_of(const std::string& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 ? there.st_ino : 0;
}

std::string text_of(const SocketReply& reply) {
  const std::string body = reply.body.text();
  return "HTTP/1.1 " + std::to_string(reply.status) + " " +
         std::string(http::obsolete_reason(static_cast<http::status>(reply.status))) +
         "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

SocketReply refused(unsigned status, const std::string& reason) {
  return {status, Json::object().set("reason", reason)};
}

Result<std::unique_ptr<SocketServer>> SocketServer::start(const std::string& path, Answer answer) {
  UniqueFd ended(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ended.valid()) return Error::from_errno(errno, "make an eventfd");
  UniqueFd listening = TRY(listen_at(path));
  return std::unique_ptr<SocketServer>(
      new SocketServer(path, {std::move(listening), std::move(ended)}, std::move(answer)));
}

SocketServer::SocketServer(std::string path, Descriptors descriptors, Answer answer)
    : path_(std::move(path)),
      inode_(inode_of(path_)),
      fds_(std::move(descriptors)),
      answer_(std::move(answer)) {
  while (threads_.size() < kMaxConnections)
    threads_.emplace_back([this](const std::stop_token& stop) { accept_all(stop); });
}

SocketServer::~SocketServer() {
  for (std::jthread& one : threads_) one.request_stop();
  ::eventfd_write(fds_.ended.get(), 1);
  threads_.clear();
  if (inode_of(path_) == inode_) ::unlink(path_.c_str());  // else it is a successor's
}

void SocketServer::accept_all(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd both[] = {{fds_.listening.get(), POLLIN, 0}, {fds_.ended.get(), POLLIN, 0}};
    if (::poll(both, 2, -1) <= 0 || stop.stop_requested()) continue;
    const UniqueFd client(::accept4(fds_.listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.valid())
      serve(client);
    else if (errno != EAGAIN)  // as it is where another thread has it
      std::this_thread::sleep_for(kAcceptPause);
  }
}

void SocketServer::serve(const UniqueFd& client) {
  TimedSocket socket(client.get());
  SocketReply reply;
  try {
    boost::beast::flat_buffer buffer(kMaxHeaderBytes + kMaxBody);
    http::request_parser<http::string_body> parser;
    parser.header_limit(kMaxHeaderBytes);
    parser.body_limit(kMaxBody);
    error_code failed;
    http::read(socket, buffer, parser, failed);
    if (failed == http::error::end_of_stream) return;
    if (failed) {
      reply = refused(failed == http::error::body_limit ? 413 : 400, "no whole request: " + failed.message());
    } else {
      const auto& request = parser.get();
      reply = answer_({std::string(request.method_string()), std::string(request.target()), request.body()});
    }
  } catch (const std::exception& failure) {  // bad_alloc, say: one answer less, not one agent less
    reply = refused(503, std::string("cannot answer: ") + failure.what());
  }
  socket.write(text_of(reply));
}

}  // namespace vfrail::kube
