#include "plugin/endpoint.h"

#include "plugin/kubelet.h"

#include <cerrno>
#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

namespace vfrail {

namespace {

// The largest request that kubelet can make names 4096 devices of 63 bytes twice (GetPreferredAllocation).
constexpr int kMaxReceiveBytes = 1 << 20;
// What kubelet's gRPC library accepts.
constexpr int kMaxSendBytes = 4 << 20;
constexpr int kMaxMetadataBytes = 16 * 1024;
constexpr int kMaxStreams = 100;

std::unique_ptr<grpc::Server> listen(const std::string& path, Service& service) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  builder.SetMaxSendMessageSize(kMaxSendBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  // Without these gRPC keeps a trace of every channel and call.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0);
  service.add_to(builder);
  return builder.BuildAndStart();
}

// Whatever is left of an earlier life at `path`. Only a socket is ever removed.
Result<> remove_stale(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    return errno == ENOENT ? Result<>() : Error::from_errno(errno, "look at " + path);
  }
  if (!S_ISSOCK(there.st_mode)) {
    return Error{Errc::exists, 0, path + " is there and is no socket; remove it if it is not needed"};
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return Error::from_errno(errno, "remove old socket " + path);
  return {};
}

}  // namespace

Result<> Endpoint::open() {
  close(std::chrono::milliseconds{0});
  const std::string& path = service_.endpoint();
  TRY(remove_stale(path), "");
  // gRPC unlinks the path it was bound to when it stops, whoever's socket is there by then. So it is bound to
  // another name and the socket renamed, which also makes it appear at once with its mode. Kubelet's plugin
  // watcher skips names with a dot in front.
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::string hidden = folder + "/" + hidden_socket_name();
  auto server = listen(hidden, service_);
  if (!server)
    return Error{Errc::system, 0, "listen on a socket in " + folder + ": gRPC refused, see its message"};
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
  if (look() == Socket::ours) ::unlink(service_.endpoint().c_str());
  service_.finish_streams();
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_.reset();
}

// While the server listens, the kernel keeps the inode of its socket, so that no other file can get the
// number.
Endpoint::Socket Endpoint::look() const {
  struct stat there {};
  if (::lstat(service_.endpoint().c_str(), &there) != 0) return Socket::gone;
  const bool ours = server_ != nullptr && there.st_dev == device_ && there.st_ino == inode_;
  return ours ? Socket::ours : Socket::foreign;
}

}  // namespace vfrail
