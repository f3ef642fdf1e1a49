#include "plugin/service/kubelet/endpoint.h"

#include "common/errors/error_id.h"
#include "plugin/service/kubelet/kubelet.h"

#include <cerrno>
#include <cstdio>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace vfrail::plugin {

namespace {

// The largest request that kubelet can make names 4096 devices of 63 bytes twice (GetPreferredAllocation).
constexpr int kMaxReceiveBytes = 1 << 20;
// What kubelet's gRPC library accepts.
constexpr int kMaxSendBytes = 4 << 20;
constexpr int kMaxMetadataBytes = 16 * 1024;

std::unique_ptr<grpc::Server> listen(const std::string& path, const Endpoint::Served& served,
                                     const grpc::ResourceQuota* memory) {
  grpc::ServerBuilder builder;
  if (memory != nullptr) builder.SetResourceQuota(*memory);
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  builder.SetMaxSendMessageSize(kMaxSendBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, served.max_streams);
  // Without these gRPC keeps a trace of every channel and call.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0);
  served.add_to(builder);
  return builder.BuildAndStart();
}

// gRPC reports only the failure. The kernel gives the reason when the same call is repeated.
Error why_not(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return Error::from_errno(errno, "make a socket");
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error::from_errno(errno, "make the socket " + path);
  }
  ::unlink(path.c_str());
  return Error{Errc::system, 0,
               "gRPC could not listen on " + path + ", the kernel can; GRPC_VERBOSITY=error shows more"};
}

// Only a socket is ever replaced: a stale one, or that of an instance that this one succeeds.
Result<> check_free(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    return errno == ENOENT ? Result<>() : Error::from_errno(errno, "read " + path);
  }
  if (S_ISSOCK(there.st_mode)) return {};
  return Error{Errc::exists, 0, path + " is there and is not a socket; remove it if it is not needed",
               ErrorId::endpoint_taken};
}

}  // namespace

Result<> Endpoint::open() {
  close(std::chrono::milliseconds{0});
  const std::string& path = served_.path;
  TRY(check_free(path));
  // gRPC unlinks the path it was bound to when it stops, even if another server's socket is there by then. So
  // it is bound to another name and the socket renamed. So it also appears at once with its mode, and
  // replaces an older one atomically, so the older instance sees a successor and never a free path. Kubelet's
  // plugin watcher skips names that begin with a dot.
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::string hidden = folder + "/" + hidden_socket_name();
  auto server = listen(hidden, served_, memory_.get());
  if (!server) return why_not(hidden);
  struct stat made {};
  if (::chmod(hidden.c_str(), 0600) != 0 || ::lstat(hidden.c_str(), &made) != 0 ||
      ::rename(hidden.c_str(), path.c_str()) != 0) {
    const int failed = errno;
    server->Shutdown(std::chrono::system_clock::now());
    return Error::from_errno(failed, "put the socket at " + path);
  }
  device_ = made.st_dev;
  inode_ = made.st_ino;
  server_ = std::move(server);
  return {};
}

void Endpoint::close(std::chrono::milliseconds patience) {
  if (!server_) return;
  if (socket() == Socket::ours) ::unlink(served_.path.c_str());
  served_.finish_streams();
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_.reset();
}

// While the server listens, the kernel keeps the inode of its socket, so that no other file can get the
// number.
Endpoint::Socket Endpoint::socket() const {
  struct stat there {};
  if (::lstat(served_.path.c_str(), &there) != 0) return Socket::gone;
  const bool ours = server_ != nullptr && there.st_dev == device_ && there.st_ino == inode_;
  return ours ? Socket::ours : Socket::foreign;
}

}  // namespace vfrail::plugin
