// Endpoint: a gRPC server on its unix socket in a folder of kubelet. Opens, closes, and knows whether the
// file at its path is still its own. Never registers and never decides when to open.
#pragma once

#include "common/result.h"
#include "plugin/service/kubelet/service.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>
#include <utility>

#include <grpcpp/grpcpp.h>

namespace vfrail::plugin {

class Endpoint {
 public:
  // What is at the path: the socket of the open server, nothing, or something else (a successor's socket).
  enum class Socket : uint8_t { ours, gone, foreign };

  // What it serves, which outlives it.
  struct Served {
    std::string path;  // absolute
    std::function<void(grpc::ServerBuilder&)> add_to;
    std::function<void()> finish_streams = [] {};  // before the server stops
    // Calls of a connection at once, of which kubelet has one: a stream, and a call or two beside it.
    int max_streams = 16;
  };

  // `memory` is the quota of all endpoints together for calls; null: no limit.
  explicit Endpoint(Served served, std::shared_ptr<grpc::ResourceQuota> memory = nullptr)
      : served_(std::move(served)), memory_(std::move(memory)) {}
  // Serves `service` at its endpoint().
  explicit Endpoint(Service& service, std::shared_ptr<grpc::ResourceQuota> memory = nullptr)
      : Endpoint(Served{.path = service.endpoint(),
                        .add_to = [&service](grpc::ServerBuilder& builder) { service.add_to(builder); },
                        .finish_streams = [&service] { service.finish_streams(); }},
                 std::move(memory)) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint() { close(std::chrono::milliseconds{0}); }

  // Listens; the socket appears at its path complete: listening and 0600. Replaces an existing socket,
  // refuses any other kind of file.
  Result<> open();
  // Removes the socket if it is its own, ends the streams, and stops; what still runs after `patience` is
  // cancelled.
  void close(std::chrono::milliseconds patience);

  const std::string& path() const { return served_.path; }
  bool is_open() const { return server_ != nullptr; }
  Socket socket() const;

 private:
  const Served served_;
  const std::shared_ptr<grpc::ResourceQuota> memory_;
  std::unique_ptr<grpc::Server> server_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace vfrail::plugin
